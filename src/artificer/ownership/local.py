"""Owning runs within one process, and what a former owner is found to be."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import Literal
from weakref import WeakValueDictionary

from artificer.errors import OwnedError

Standing = Literal["gone", "unknown", "alive"]
"""Of a run's former owner: it has let go of the run or is dead; nobody knows; it lives."""


@dataclass(frozen=True)
class Found:
    """A former owner's standing, and who it is, for a sentence."""

    standing: Standing
    who: str = ""


GONE, UNKNOWN = Found("gone"), Found("unknown")

_NOBODY_KNOWS = "?"
"""How an owner is written down that the journal does not name."""


class Hold:
    """An owner's hold on one run. ``admit`` is for `ports.Claim`."""

    def __init__(self, owner: LocalOwner, run: str, *, take_over: bool) -> None:
        self._owner = owner
        self.run = run
        self._take_over = take_over
        self.former = GONE

    def admit(self, former: str | None) -> str:
        """Take hold of the run, unless its former owner lives. May be called again.

        ``former`` are that owner and those it had taken the run from; returned are those that
        may still act.

        Raises:
            OwnedError: one of them lives, and the run is not to be taken over.
        """
        names = [_NOBODY_KNOWS] if former is None else former.split()
        found = {name: self._owner.look(_known(name), self.run, self) for name in names}
        doubtful = {name: one for name, one in found.items() if one.standing != "gone"}
        living = [one for one in doubtful.values() if one.standing == "alive"]
        self.former = next(iter([*living, *doubtful.values()]), GONE)
        if self.former.standing == "alive" and not self._take_over:
            raise OwnedError(
                f"Run {self.run} is owned by {self.former.who}, which is alive.",
                hint=f"What is sent to the run reaches it. artificer resume {self.run} "
                "--take-over takes the run away from it, and leaves its unfinished calls ambiguous",
            )
        self._owner.driven[self.run] = self
        return " ".join(doubtful)

    def end(self, *, released: bool) -> None:
        """Let go of the run; ``released`` says that the journal names us no longer."""
        if self._owner.driven.get(self.run) is self:
            del self._owner.driven[self.run]
        self._owner.unreleased += not released


class LocalOwner:
    """An owner for journals that only this process uses: no other process can ask after it."""

    def __init__(self) -> None:
        self.driven: dict[str, Hold] = {}
        self.unreleased = 0
        self._id = f"{_here}:{secrets.token_hex(4)}"
        _living[self._id] = self

    @property
    def id(self) -> str:
        """The name under which it owns runs."""
        return self._id

    def hold(self, run: str, *, take_over: bool = False) -> Hold:
        """A hold on a run, to be admitted."""
        return Hold(self, run, take_over=take_over)

    def look(self, former: str | None, run: str, hold: Hold) -> Found:
        """Return the standing of a run's former owner, before a hold of ours."""
        if former is None:
            return UNKNOWN
        if former == "":
            return GONE
        owner = self if former == self.id else _living.get(former)
        if owner is not None:
            other = owner.driven.get(run)
            return GONE if other in (None, hold) else Found("alive", _this_process())
        return GONE if former.startswith(f"{_here}:") else UNKNOWN


def _known(name: str) -> str | None:
    return None if name == _NOBODY_KNOWS else name


def _this_process() -> str:
    return f"this process ({os.getpid()})"


_here = secrets.token_hex(8)
_living: WeakValueDictionary[str, LocalOwner] = WeakValueDictionary()


def _after_fork() -> None:
    """A forked process owns nothing of what its parent does."""
    global _here
    _here = secrets.token_hex(8)
    _living.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

"""Ownership of runs within one process, and the state of a run's former owner."""

from __future__ import annotations

import os
import secrets
from typing import Literal
from weakref import WeakValueDictionary

from msgspec import Struct

from artificer.errors import OwnedError

Liveness = Literal["gone", "unknown", "alive"]
"""The state of a run's former owner: it released the run or is dead; unknown; it lives."""


class FormerOwner(Struct, frozen=True):
    """A former owner: whether it lives, its name for a message, and how that is known."""

    liveness: Liveness
    who: str = ""
    why: str = ""


GONE, UNKNOWN = FormerOwner("gone"), FormerOwner("unknown")

_UNNAMED = "?"
"""The recorded name of an owner that the journal does not name."""


class Hold:
    """An owner's hold on one run. ``admit`` implements `ports.Claim`."""

    def __init__(self, owner: LocalOwner, run: str, *, take_over: bool) -> None:
        self._owner = owner
        self.run = run
        self._take_over = take_over
        self.former = GONE
        self.unreleased = False
        """Whether another owner had the run, and did not let go of it."""
        self.lapses = 0
        """How often the owner's lease had ended, when the run was last known to be ours."""

    def admit(self, former: str | None) -> str:
        """Take the run, unless its former owner lives. May be called again.

        ``former`` names that owner and the owners it took the run from. Return those of them
        that may still act.

        Raises:
            OwnedError: one of them lives, and ``take_over`` is not set.
        """
        self._owner.begin()
        self.lapses = self._owner.lapses
        names = [_UNNAMED] if former is None else former.split()
        found = {name: self._owner.look(_known(name), self.run, self) for name in names}
        doubtful = {name: one for name, one in found.items() if one.liveness != "gone"}
        living = [one for one in doubtful.values() if one.liveness == "alive"]
        self.former = next(iter([*living, *doubtful.values()]), GONE)
        self.unreleased = any(name != self._owner.id for name in names)
        if self.former.liveness == "alive" and not self._take_over:
            raise OwnedError(
                f"Run {self.run} is owned by {self.former.who}, which is alive{self.former.why}.",
                hint=f"Signals still reach the run. artificer resume {self.run} "
                "--take-over takes the run over; its unfinished calls become ambiguous",
            )
        self._owner.owned_runs[self.run] = self
        return " ".join(doubtful)

    async def stay(self) -> int:
        """Ensure that no other process may take the run now. See `LocalOwner.stay`."""
        return await self._owner.stay()

    def end(self, *, released: bool, epoch: int = 0) -> None:
        """Release the run; ``released`` means that the journal no longer names this owner.

        Otherwise its ``epoch``, if there is one, is kept for another attempt.
        """
        if self._owner.owned_runs.get(self.run) is self:
            del self._owner.owned_runs[self.run]
        self._owner.unreleased += not released
        if epoch and not released:
            self._owner.left[self.run] = epoch

    def left(self) -> list[tuple[str, int]]:
        """Return the runs, with their epochs, that this owner has left and could not release."""
        return list(self._owner.left.items())

    def was_released(self, run: str, epoch: int) -> None:
        """Forget one of them: the journal no longer names this owner."""
        if self._owner.left.get(run) == epoch:
            del self._owner.left[run]
            self._owner.unreleased -= 1


class LocalOwner:
    """An owner for journals of this process alone: no other process can check on it."""

    def __init__(self) -> None:
        self.owned_runs: dict[str, Hold] = {}
        self.unreleased = 0
        self.left: dict[str, int] = {}
        self.lapses = 0
        """How often its lease had ended before it was renewed, if it has one."""
        self._id = f"{_here}:{secrets.token_hex(4)}"
        _living[self._id] = self

    @property
    def id(self) -> str:
        """The name recorded as owner."""
        return self._id

    def close(self) -> None:
        """Do nothing: what is held here ends with the process."""

    def begin(self) -> None:
        """Be about to own a run. Called from any thread, before every one."""

    async def ready(self) -> None:
        """Be about to own a run, as `begin`, without holding up the event loop."""
        self.begin()

    async def stay(self) -> int:
        """Make sure, before an effect, that nobody may take the runs owned here for abandoned.

        Return ``lapses``: when there are more of them, someone may have, and the epoch of a run
        tells.

        Raises:
            OperatorError: it cannot be made sure. The effect must not start.
        """
        return self.lapses

    def confirm_dead(self) -> list[str]:
        """Write down which owners are dead, for those who cannot see it; return them. Blocks."""
        return []

    def gone_here(self) -> list[str]:
        """Return owners that are known to be gone, before their leases end. Blocks."""
        return []

    def hold(self, run: str, *, take_over: bool = False) -> Hold:
        """Return a hold on a run, to be admitted by the journal."""
        return Hold(self, run, take_over=take_over)

    def look(self, former: str | None, run: str, hold: Hold) -> FormerOwner:
        """Return the state of a run's former owner, before ``hold``."""
        if former is None:
            return UNKNOWN
        if former == "":
            return GONE
        owner = self if former == self.id else _living.get(former)
        if owner is not None:
            other = owner.owned_runs.get(run)
            return GONE if other in (None, hold) else FormerOwner("alive", _this_process())
        return GONE if former.startswith(f"{_here}:") else UNKNOWN

    def is_alive(self, owner: str) -> bool:
        """Return whether an owner is this one, or lives."""
        hold = Hold(self, "", take_over=False)
        return owner == self.id or self.look(owner, "", hold).liveness == "alive"


def _known(name: str) -> str | None:
    return None if name == _UNNAMED else name


def _this_process() -> str:
    return f"this process ({os.getpid()})"


_here = secrets.token_hex(8)
_living: WeakValueDictionary[str, LocalOwner] = WeakValueDictionary()


def _after_fork() -> None:
    """Own nothing in a forked process: its parent's runs stay the parent's."""
    global _here
    _here = secrets.token_hex(8)
    _living.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

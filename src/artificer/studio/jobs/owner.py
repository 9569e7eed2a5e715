"""A lease as the owner of runs: how the journal knows who executes a run by HTTP."""

from __future__ import annotations

from collections.abc import Callable

from artificer.ownership.job_leases import PREFIX
from artificer.ownership.local import GONE, FormerOwner, Hold, LocalOwner


class LeaseOwner(LocalOwner):
    """A lease that takes runs. Only a lease that has not ended is known to be alive.

    A worker may be cut off and continue. So one whose lease has ended is never known to be dead,
    unless it has released its runs: its calls that are not pure become ambiguous.
    """

    def __init__(self, name: str, is_alive: Callable[[str], bool], local: LocalOwner) -> None:
        super().__init__()
        self._name = name
        self._is_alive = is_alive
        self._local = local

    @property
    def id(self) -> str:
        """The name recorded as owner."""
        return self._name

    def look(self, former: str | None, run: str, hold: Hold) -> FormerOwner:
        """Return the state of a run's former owner, before ``hold``."""
        if former == self._name:
            return GONE  # one worker, which has ended its work on the run before
        if former is not None and former.startswith(PREFIX) and self._is_alive(former):
            return FormerOwner("alive", "the worker that has leased it")
        return self._local.look(former, run, hold)


class AdmittedRun(Hold):
    """A run that a lease takes. ``doubtful`` names the former owners that may still act."""

    doubtful = ""

    def admit(self, former: str | None) -> str:
        """Take the run, unless its former owner lives. Raises OwnedError."""
        self.doubtful = super().admit(former)
        return self.doubtful

"""Which worker has which run, in memory: for tests, and for workers of one process."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from artificer.ports.assignments import OVER_KEPT_S, RUNS_AT_ONCE, Assigned, AssignmentStanding


class _Assignment(Struct):
    owner: str
    standing: AssignmentStanding = "executing"
    at: float = 0.0
    refused: tuple[str, ...] = ()


class MemoryAssignments:
    """A twin of the table.

    ``is_alive`` says whether an owner's lease lasts, ``now`` is the time in seconds.
    """

    def __init__(
        self, is_alive: Callable[[str], bool], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_alive = is_alive
        self._now = now
        self._runs: dict[str, _Assignment] = {}

    async def take(self, run: str, owner: str, *, again: bool) -> Assigned:
        """Ask for a run. See `Assignments.take`."""
        found = self._runs.get(run)
        if found is None:
            self._runs[run] = _Assignment(owner, at=self._now())
            return "first"
        if found.standing == "over" and not again:
            return "over"
        if (
            found.owner == owner
            or found.standing in ("left", "refused")
            or (again and found.standing != "executing")
            or not self._is_alive(found.owner)
        ):
            found.owner, found.standing, found.at = owner, "executing", self._now()
            return "ours"
        return "elsewhere"

    async def put(self, run: str, owner: str, standing: AssignmentStanding) -> None:
        """Record the standing of a run with its worker."""
        found = self._runs.get(run)
        if found is not None and found.owner == owner:
            found.standing, found.at = standing, self._now()
            found.refused = (*found.refused, owner) if standing == "refused" else ()

    async def leave(self, owner: str) -> None:
        """Leave all of a worker's runs to others."""
        for found in self._runs.values():
            if found.owner == owner and found.standing != "over":
                found.standing = "left"

    async def lost(self, owner: str) -> list[str]:
        """Assign this worker runs that no worker has any more, and return them."""
        forgotten = self._now() - OVER_KEPT_S
        for run, found in list(self._runs.items()):
            if found.standing == "over" and found.at < forgotten:
                del self._runs[run]
        lost = [run for run, found in self._runs.items() if self._is_lost(found, owner)]
        for run in lost[:RUNS_AT_ONCE]:
            self._runs[run].owner, self._runs[run].standing = owner, "parked"
        return sorted(lost[:RUNS_AT_ONCE])

    def forget(self) -> None:
        """Forget everything, as a crash of the database does."""
        self._runs.clear()

    def _is_lost(self, found: _Assignment, owner: str) -> bool:
        if found.standing == "over" or owner in found.refused:
            return False
        return found.standing in ("left", "refused") or not self._is_alive(found.owner)

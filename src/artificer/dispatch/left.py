"""The runs that a worker leaves alone and does not wait for when it stops."""

from __future__ import annotations

from collections.abc import Collection

from artificer.errors import ArtificerError
from artificer.ports import AwaitsRuns, Parked, SegmentEnd, Storage
from artificer.runtime.snapshot import state_of


class LeftRuns:
    """Learns from the ends of segments which runs this worker cannot execute."""

    def __init__(self) -> None:
        self._refused = set[str]()
        self._awaits: dict[str, frozenset[str]] = {}

    def ended(self, run: str, end: SegmentEnd) -> None:
        """Note the end of a segment of a run."""
        self._refused.discard(run)
        self._awaits.pop(run, None)
        if isinstance(end, AwaitsRuns):
            self._awaits[run] = frozenset(end.runs)
        elif isinstance(end, Parked) and end.refused:
            self._refused.add(run)

    async def open_ones(self, storage: Storage, abandoned: Collection[str]) -> list[str]:
        """Return those that are open still, and the runs that wait for nothing else.

        ``abandoned`` are runs that no worker executes.
        """
        left = self._refused | set(abandoned)
        while waiting := {run for run, others in self._awaits.items() if others <= left} - left:
            left |= waiting
        return [run for run in sorted(left) if await _is_open(storage, run)]


async def _is_open(storage: Storage, run: str) -> bool:
    try:
        return (await state_of(storage, run)).standing == "open"
    except ArtificerError:  # it was pruned, or cannot be read
        return False

"""The index of runs in memory: the linear counterpart of the one in SQLite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from artificer.ports import IndexedRun, Reached, RunQuery
from artificer.ports.run_index import above


class MemoryRunIndex:
    """A `RunIndex` that dies with its process, and looks at every run."""

    def __init__(self) -> None:
        self._reached = Reached()
        self._runs: dict[str, IndexedRun] = {}

    def reached(self) -> Reached:
        """Return how far the index has come."""
        return self._reached

    def add(self, after: int, runs: Sequence[IndexedRun], upto: Reached) -> bool:
        """Add or replace runs; False unless the index is at ``after``."""
        if self._reached.position != after:
            return False
        self._runs.update({run.run: run for run in runs})
        self._reached = upto
        return True

    def find(self, query: RunQuery, beyond: str | None, limit: int) -> list[IndexedRun]:
        """Return the first ``limit`` runs in the order of the query."""
        runs = list(self._runs.values())
        if not query.oldest_first:
            runs.reverse()
        if beyond is not None:
            places = [place for place, run in enumerate(runs) if run.run == beyond]
            runs = runs[places[0] + 1 :] if places else []
        found = [run for run in runs if query.wants(run) and self._of_builds(run, query)]
        return [replace(run, words=()) for run in found[:limit]]

    def counts(self) -> Mapping[str, int]:
        """Return how many runs stand in which way."""
        return Counter(run.status for run in self._runs.values())

    def forget(self, run: str) -> None:
        """Forget what is known of a run."""
        if run in self._runs:
            self._runs[run] = IndexedRun(run, 0, "", "pruned")

    def clear(self) -> None:
        """Forget everything."""
        self._reached = Reached()
        self._runs.clear()

    def _of_builds(self, run: IndexedRun, query: RunQuery) -> bool:
        return query.builds or above(run.run) not in self._runs

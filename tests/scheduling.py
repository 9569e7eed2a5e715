"""Which worker runs which tests: those of a module go to one worker, a few at a time.

A worker that is sent one test after another costs a millisecond for each, and makes every fixture
of a module that another worker has made already. Half of the workers get the tests that wait most
of the time, for a page, a process or the end of a timeout: if all waited at once, the processors
would be idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

TOGETHER = 16
"""How many tests of a module a worker is sent at once: few enough that all workers end together."""

WAITING = (
    "tests/backends/",
    "tests/bench/",
    "tests/cli/test_cli_build",
    "tests/ownership/",
    "tests/providers/",
    "tests/runtime/builds/",
    "tests/studio/",
)
"""Where most tests wait. Together they take as long as all others."""


class Numbered(list[str]):
    """Tests that know their numbers: each is looked up once, and there are ten thousand."""

    def __init__(self, tests: Sequence[str]) -> None:
        super().__init__(tests)
        self._numbers = {test: number for number, test in enumerate(tests)}

    def index(self, test: str, *bounds: Any) -> int:
        return self._numbers[test]


class Neighbours(LoadGroupScheduling):
    """Sends a worker all tests of an ``xdist_group``, and of the others those of a module."""

    _units: dict[str, str]

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        self._units = self._united(collection)
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Numbered(collection)

    def _united(self, collection: Sequence[str]) -> dict[str, str]:
        """Name the unit of each test."""
        units, seen = {}, Counter[str]()
        for test in collection:
            units[test] = super()._split_scope(test)
            if units[test] == test:  # which has no group
                module = test.partition("::")[0]
                units[test] = f"{module} {seen[module] // TOGETHER}"
                seen[module] += 1
        return units

    def _split_scope(self, nodeid: str) -> str:
        return self._units[nodeid]

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Send a worker the next unit that suits it; when there is none, any."""
        waits = node in self.nodes[: len(self.nodes) // 2]
        fitting = (unit for unit, tests in self.workqueue.items() if _wait(tests) is waits)
        if (unit := next(fitting, None)) is not None:
            self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Forget a unit that is done: what a worker still has to do is counted after each test."""
        super().mark_test_complete(node, item_index, duration)
        units = self.assigned_work[node]
        unit = self._units[self.registered_collections[node][item_index]]
        if all(units[unit].values()):
            del units[unit]


def _wait(tests: Iterable[str]) -> bool:
    return next(iter(tests)).startswith(WAITING)

"""Conformance tests for assignments, to run with your own storage.

Subclass `AssignmentsSuite` in a test module and give it the pytest fixtures ``assignments``, a
fresh one, and ``die``, which ends the lease of the owner that it is called with. The owners
``one``, ``two`` and ``three`` have leases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from artificer.ports import Assignments

Die = Callable[[str], None]


class AssignmentsSuite:
    """The behavior of the `Assignments` port."""

    async def test_one_of_many_workers_gets_a_run(self, assignments: Assignments) -> None:
        """One of many workers that ask at once gets the run, and may ask again."""
        owners = ("one", "two", "three")
        found = await asyncio.gather(
            *(assignments.take("r", owner, again=False) for owner in owners)
        )
        assert sorted(found) == ["elsewhere", "elsewhere", "first"]
        first = owners[found.index("first")]
        assert await assignments.take("r", first, again=False) == "ours"
        others = [owner for owner in owners if owner != first]
        assert await assignments.take("r", others[0], again=True) == "elsewhere"

    async def test_a_parked_run_goes_to_another_one_only_with_news(
        self, assignments: Assignments
    ) -> None:
        """Without news it stays with its worker; afterwards that worker cannot change it."""
        await assignments.take("r", "one", again=False)
        await assignments.put("r", "one", "parked")
        assert await assignments.take("r", "two", again=False) == "elsewhere"
        assert await assignments.take("r", "two", again=True) == "ours"
        await assignments.put("r", "one", "over")
        assert await assignments.take("r", "one", again=True) == "elsewhere"

    async def test_a_run_that_is_over_is_not_looked_at_again(
        self, assignments: Assignments
    ) -> None:
        """Workers that find a finished run later do not get it; a signal makes it available."""
        await assignments.take("r", "one", again=False)
        await assignments.put("r", "one", "over")
        for owner in ("one", "two"):
            assert await assignments.take("r", owner, again=False) == "over"
        assert await assignments.lost("two") == []
        assert await assignments.take("r", "two", again=True) == "ours"

    async def test_what_a_dead_worker_had_is_handed_to_one_other(
        self, assignments: Assignments, die: Die
    ) -> None:
        """One other worker gets its executing and its parked run, but not a finished one."""
        for run in ("executing", "parked", "over"):
            await assignments.take(run, "one", again=False)
        await assignments.put("parked", "one", "parked")
        await assignments.put("over", "one", "over")
        assert await assignments.lost("two") == []
        die("one")
        both = await asyncio.gather(assignments.lost("two"), assignments.lost("three"))
        assert sorted(both[0] + both[1]) == ["executing", "parked"]
        assert await assignments.lost("two") == await assignments.lost("three") == []

    async def test_a_run_of_a_dead_worker_goes_to_the_first_that_wants_it(
        self, assignments: Assignments, die: Die
    ) -> None:
        """The first worker that asks gets the run, before any search for lost runs."""
        await assignments.take("r", "one", again=False)
        die("one")
        assert await assignments.take("r", "two", again=False) == "ours"
        assert await assignments.take("r", "three", again=False) == "elsewhere"

    async def test_a_worker_that_stops_leaves_its_runs_to_others(
        self, assignments: Assignments
    ) -> None:
        """Others get its runs at once, without waiting for the end of its lease."""
        await assignments.take("r", "one", again=False)
        await assignments.take("s", "one", again=False)
        await assignments.put("s", "one", "left")
        assert await assignments.lost("two") == ["s"]
        await assignments.leave("one")
        assert await assignments.lost("two") == ["r"]

    async def test_a_run_that_one_worker_cannot_execute_is_tried_by_each_other_once(
        self, assignments: Assignments
    ) -> None:
        """Each other worker may try once, because one of them may have the agent."""
        await assignments.take("r", "one", again=False)
        await assignments.put("r", "one", "refused")
        assert await assignments.lost("one") == []
        assert await assignments.lost("two") == ["r"]
        assert await assignments.take("r", "two", again=True) == "ours"
        await assignments.put("r", "two", "refused")
        assert await assignments.lost("one") == await assignments.lost("two") == []
        assert await assignments.take("r", "one", again=True) == "ours"
        await assignments.put("r", "one", "parked")
        assert await assignments.lost("three") == []

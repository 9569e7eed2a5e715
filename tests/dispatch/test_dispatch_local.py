"""The dispatcher of one process: the suite of all dispatchers, and whose turn it is."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from artificer.dispatch.lanes import Lanes
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.turns import Turns
from artificer.errors import OperatorError
from artificer.ports import DispatchedRun, Parked, SharedLimit
from artificer.testing.dispatcher_suite import DispatcherSuite, OpenLanes, ScriptedSegments, serving


@pytest.mark.req("dispatch-port")
@pytest.mark.parametrize("lanes", [None, OpenLanes()], ids=["own", "open"])
class TestLocalDispatcher(DispatcherSuite):
    @pytest_asyncio.fixture
    async def dispatcher(self, lanes: OpenLanes | None) -> AsyncIterator[LocalDispatcher]:
        yield LocalDispatcher(lanes)


async def until(condition: Callable[[], bool]) -> None:
    while True:
        if condition():
            return
        await asyncio.sleep(0.01)


def order(*wanted: DispatchedRun) -> list[str]:
    turns, found = Turns(), list[str]()
    for each in wanted:
        turns.add(each)
    while (taken := turns.next()) is not None:
        found.append(taken.run)
    return found


@pytest.mark.req("dispatch-turns")
def test_a_higher_priority_comes_first_and_otherwise_the_older() -> None:
    runs = [DispatchedRun("late", 5), DispatchedRun("a"), DispatchedRun("b"), DispatchedRun("x", 1)]
    assert order(*runs) == ["x", "a", "b", "late"]


@pytest.mark.req("dispatch-turns")
def test_a_tenant_that_submits_much_delays_itself_alone() -> None:
    flood = [DispatchedRun(f"flood{n}", tenant="flood") for n in range(50)]
    others = [DispatchedRun(f"{name}{n}", tenant=name) for n in range(3) for name in ("a", "b")]
    first = order(*flood, *others)[:9]
    assert Counter(run.rstrip("0123456789") for run in first) == {"flood": 3, "a": 3, "b": 3}


@pytest.mark.req("dispatch-turns")
def test_a_tenant_without_runs_is_not_remembered() -> None:
    turns = Turns()
    for n in range(100):
        turns.add(DispatchedRun(f"r{n}", tenant=f"t{n}"))
        turns.next()
    assert (len(turns), turns._served) == (0, {})


@pytest.mark.req("dispatch-turns")
async def test_a_lane_has_a_limit_and_holds_nobody_else_up() -> None:
    script = ScriptedSegments(held=["slow1", "slow2"])
    dispatcher = LocalDispatcher(Lanes({"slow": (SharedLimit("lanes.slow", 1),)}))
    async with serving(dispatcher, script, slots=3):
        for run in ("slow1", "slow2"):
            await dispatcher.submit(DispatchedRun(run, lane="slow"))
        await dispatcher.submit(DispatchedRun("quick"))
        await script.until("slow1", "quick")
        assert ("slow2", "submitted") not in script.executed
        await script.let_go("slow1")
        await script.until("slow2")


@pytest.mark.req("dispatch-bounded")
async def test_more_runs_than_it_holds_are_refused_unless_one_waits_for_a_signal() -> None:
    script = ScriptedSegments(held=["b"], a=[Parked()])
    dispatcher = LocalDispatcher(limit=2)
    async with serving(dispatcher, script):
        await dispatcher.submit(DispatchedRun("a"))
        await script.until("a")
        await dispatcher.submit(DispatchedRun("b"))
        await script.until("b")
        await until(lambda: dispatcher.counts()["parked"] == 1)
        await dispatcher.submit(DispatchedRun("c"))  # a is forgotten: the sweeper knows it
        await script.until("c")
        await dispatcher.wake("a", "signal")
        await until(lambda: dispatcher.counts()["executing"] == 1)
        await dispatcher.submit(DispatchedRun("d"))
        await script.until("d")
    assert [run for run, _ in script.executed] == ["a", "b", "c", "d"]
    full = LocalDispatcher(limit=1)
    await full.submit(DispatchedRun("a"))
    with pytest.raises(OperatorError, match="1 runs are already dispatched"):
        await full.submit(DispatchedRun("b"))


@pytest.mark.req("dispatch-port")
async def test_a_segment_that_breaks_does_not_end_the_service() -> None:
    script = ScriptedSegments()

    async def execute(run: str, cause: str) -> object:
        if run == "broken":
            raise ZeroDivisionError
        return await script.execute(run, cause)

    dispatcher = LocalDispatcher()
    task = asyncio.create_task(dispatcher.serve(execute, 1))  # type: ignore[arg-type]
    await dispatcher.submit(DispatchedRun("broken"))
    await dispatcher.submit(DispatchedRun("a"))
    await script.until("a")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

"""Conformance tests for executors, to run with your own.

Subclass `ExecutorSuite` in a test module and give it three pytest fixtures:

    class TestMine(ExecutorSuite):
        @pytest.fixture
        def executor(self):
            return Mine()

        @pytest.fixture
        def working(self):  # a call that succeeds, even twice
            return "look_up", {"key": "a"}

        @pytest.fixture
        def failing(self):  # a call that the schema allows, and that fails
            return "look_up", {"key": "not there"}

If one of your calls may take long, subclass `EndlessCallSuite` too. The tests are coroutines:
pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from artificer.contracts.definition import Toolset, toolset
from artificer.contracts.schema import compile_schema
from artificer.ports import (
    Call,
    CallMonitor,
    Executor,
    Lasting,
    Outliving,
    Preview,
    Previewing,
    Probed,
    Probing,
    Receipt,
)
from artificer.values.base import JsonObject

T = TypeVar("T")

CallOf = tuple[str, JsonObject]
"""The name of a tool, and arguments for it."""

_ENDINGS = {"timeout", "ambiguous", "error", "cancelled"}


class _Monitor(CallMonitor):
    """Remembers work that continued after its call."""

    def __init__(self) -> None:
        self.outliving: list[Outliving] = []

    def outlived(self, work: Outliving) -> None:
        """Remember work that could not be stopped."""
        self.outliving.append(work)


def call_of(
    executor: Executor,
    wanted: CallOf,
    *,
    id: str = "call-1",
    timeout_ms: int | None = None,
    monitor: CallMonitor | None = None,
) -> Call:
    """Return a call as the gate passes it."""
    name, arguments = wanted
    (tool,) = (tool for tool in executor.tools if tool.name == name)
    if timeout_ms is not None:
        tool = tool.replace(timeout_ms=timeout_ms)
    key, monitor = f"run-1/{id}", monitor or CallMonitor()
    return Call("run-1", id, tool, copy.deepcopy(arguments), key, monitor=monitor)


class ExecutorSuite:
    """The behavior of the `Executor` port: fixtures ``executor``, ``working``, ``failing``."""

    patience_s: float = 30
    """Seconds within which a short call has ended, even on a busy machine."""

    def test_its_tools_stay_the_same(self, executor: Executor) -> None:
        """A resumed run must find the tools that it began with, under the same names."""
        assert executor.tools
        assert all(tool.description.strip() for tool in executor.tools)
        assert toolset(executor.tools) == toolset(executor.tools)
        recorded = toolset(executor.tools).to_text()
        assert Toolset.read(recorded).names == toolset(executor.tools).names

    def test_the_arguments_pass_the_schema(
        self, executor: Executor, working: CallOf, failing: CallOf
    ) -> None:
        """Otherwise the gate would refuse these calls, and the other tests would be useless."""
        for wanted in (working, failing):
            call = call_of(executor, wanted)
            assert compile_schema(call.definition.input_schema).problems(call.arguments) == ()

    async def test_a_call_that_works_is_a_receipt(
        self, executor: Executor, working: CallOf
    ) -> None:
        """It can be recorded, and its data, if any, are JSON."""
        receipt = await _performed(self.patience_s, executor, call_of(executor, working))
        assert receipt.status == "ok", receipt.content
        assert Receipt.read(receipt.canonical()) == receipt
        if receipt.data is not None:
            json.loads(receipt.data)

    async def test_a_call_that_fails_is_a_receipt_too(
        self, executor: Executor, failing: CallOf
    ) -> None:
        """It raises nothing: the model reads what was wrong, and the executor continues."""
        receipt = await _performed(self.patience_s, executor, call_of(executor, failing))
        assert receipt.status == "error", receipt.content
        assert receipt.content.strip(), "the model cannot correct what it cannot read"

    async def test_calls_do_not_disturb_each_other(
        self, executor: Executor, working: CallOf, failing: CallOf
    ) -> None:
        """Calls of one turn, or of several runs, are performed in parallel."""
        wanted = (working, failing, working)
        calls = [call_of(executor, one, id=f"call-{n}") for n, one in enumerate(wanted)]
        receipts = await asyncio.gather(
            *(_performed(self.patience_s, executor, call) for call in calls)
        )
        assert [receipt.status for receipt in receipts] == ["ok", "error", "ok"]

    async def test_arguments_stay_as_the_gate_passed_them(
        self, executor: Executor, working: CallOf
    ) -> None:
        """They are recorded, so a later reader must find exactly what was approved."""
        call = call_of(executor, working)
        await _performed(self.patience_s, executor, call)
        assert call.arguments == working[1]

    async def test_a_cancelled_call_ends(self, executor: Executor, working: CallOf) -> None:
        """A cancelled call ends, and the next call is performed."""
        task = asyncio.ensure_future(executor.execute(call_of(executor, working)))
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=self.patience_s)
        assert done, "the call goes on after it was cancelled"
        assert (
            await _performed(self.patience_s, executor, call_of(executor, working, id="call-2"))
        ).status == "ok"

    async def test_what_it_can_do_besides_is_of_the_right_type(
        self, executor: Executor, working: CallOf
    ) -> None:
        """Probes and previews answer, and ending a run's shared resources may be repeated."""
        able: object = executor
        call = call_of(executor, working)
        if isinstance(able, Previewing):
            assert isinstance(able.preview(call), Preview)
        if isinstance(able, Probing) and call.definition.probe:
            assert isinstance(await _within(self.patience_s, able.probe(call)), Probed)
        if isinstance(able, Lasting):
            for _ in range(2):
                await _within(self.patience_s, able.release("run-1"))


class EndlessCallSuite:
    """The behavior of an executor with a long call: fixtures ``executor`` and ``endless``.

    ``endless`` is a call that takes longer than a minute. If you can, add a fixture ``at_work``: a
    function that returns how many calls are still working, in any thread or process.
    """

    @pytest.fixture
    def at_work(self) -> Callable[[], int]:
        """Return a function that finds no work; override it to count work that continues."""
        return lambda: 0

    patience_s: float = 30
    """Seconds after its time limit within which a call has ended, even on a busy machine."""

    async def test_a_call_ends_in_its_time(
        self, executor: Executor, endless: CallOf, at_work: Callable[[], int]
    ) -> None:
        """Its receipt says so; work that could not be stopped is passed to the call's monitor."""
        monitor = _Monitor()
        call = call_of(executor, endless, timeout_ms=200, monitor=monitor)
        receipt = await _performed(self.patience_s, executor, call)
        assert receipt.status in _ENDINGS, receipt.content
        if monitor.outliving and call.definition.effect != "pure":
            assert receipt.status == "ambiguous"
        assert at_work() <= len(monitor.outliving), "work goes on, and the monitor does not know it"

    async def test_a_long_call_ends_when_it_is_cancelled(
        self, executor: Executor, endless: CallOf, at_work: Callable[[], int]
    ) -> None:
        """It ends whether it had started or not, and so does its work, or the monitor knows."""
        monitor = _Monitor()
        call = call_of(executor, endless, monitor=monitor)
        task = asyncio.ensure_future(executor.execute(call))
        await asyncio.wait([task], timeout=0.2)
        assert not task.done(), "the call is not a long one"
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=self.patience_s)
        assert done, "the call goes on after it was cancelled"
        assert at_work() <= len(monitor.outliving), "work goes on, and the monitor does not know it"


async def _performed(seconds: float, executor: Executor, call: Call) -> Receipt:
    receipt: object = await _within(seconds, executor.execute(call))
    assert isinstance(receipt, Receipt)
    return receipt


async def _within(seconds: float, work: Awaitable[T]) -> T:
    async with asyncio.timeout(seconds):
        return await work

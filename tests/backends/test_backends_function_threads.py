"""Synchronous functions in threads: what they share, and what becomes of those that go on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.backends.function import threads
from artificer.backends.function.decorator import FunctionTool, tool
from artificer.backends.function.executor import FunctionExecutor
from artificer.config import Config
from artificer.core.events import Event, ReceiptIgnored
from artificer.core.record import EventLine
from artificer.core.signals import Cancel
from artificer.errors import ToolDefinitionError
from artificer.ports import Call, CallMonitor, Outliving, Receipt
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import Run
from artificer.values.blocks import ToolResultBlock
from artificer.world import World

pytestmark = pytest.mark.req("function-thread")


class Database:
    """A stateful object, as a newcomer's first tool has one."""

    def __init__(self) -> None:
        self.rows: list[str] = []


class Gate:
    """A function that goes on until it is let go."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self.started.set()
        self.open.wait(60)
        return "late"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


class Monitor(CallMonitor):
    """Keeps the work that outlives its call."""

    def __init__(self) -> None:
        self.works: list[Outliving] = []

    def outlived(self, work: Outliving) -> None:
        """Keep it."""
        self.works.append(work)


async def perform(
    function_tool: FunctionTool[..., Any], monitor: CallMonitor | None = None, **arguments: Any
) -> Receipt:
    made = Call("run-1", "call-1", function_tool.definition, arguments, "key-1")
    if monitor is not None:
        made = Call(
            "run-1", "call-1", function_tool.definition, arguments, "key-1", monitor=monitor
        )
    return await FunctionExecutor([function_tool]).execute(made)


def results(run: Run) -> list[tuple[str, str]]:
    blocks = [b for message in run.state.history for b in message.blocks]
    return [(b.status, b.content) for b in blocks if isinstance(b, ToolResultBlock)]


async def events_of(world: World, run: str) -> list[Event]:
    lines = (await world.archive.history(run)).lines
    return [line.event for line in lines if isinstance(line, EventLine)]


def slow(gate: Gate, **options: Any) -> FunctionTool[..., Any]:
    @tool(name="slow", timeout=0.1, **options)
    def wait() -> str:
        """Wait."""
        return gate()

    return wait


class TestOneCall:
    async def test_a_stateful_tool_works(self) -> None:
        db = Database()

        @tool
        def add(row: str) -> int:
            """Add a row."""
            db.rows.append(row)
            return len(db.rows)

        assert [(await perform(add, row=row)).content for row in "ab"] == ["1", "2"]
        assert db.rows == ["a", "b"]
        assert add.definition.isolation == "thread"

    async def test_it_does_not_block_the_event_loop_and_sees_the_context_variables(self) -> None:
        name: ContextVar[str] = ContextVar("name")
        opened = threading.Event()

        @tool
        def look() -> list[Any]:
            """Look."""
            return [opened.wait(30), name.get(), threading.current_thread().daemon]

        name.set("mine")
        task = asyncio.create_task(perform(look))
        await asyncio.sleep(0)
        opened.set()
        assert (await task).content == '[true,"mine",true]'

    @pytest.mark.parametrize(
        ("effect", "status"),
        [("pure", "timeout"), ("idempotent", "ambiguous"), ("once", "ambiguous")],
    )
    async def test_at_its_time_limit_it_is_ambiguous_unless_it_is_pure(
        self, gate: Gate, effect: str, status: str
    ) -> None:
        monitor = Monitor()
        receipt = await perform(slow(gate, effect=effect), monitor)
        assert receipt.status == status
        assert "within 0.1 s" in receipt.content
        (work,) = monitor.works
        assert work.alive
        gate.open.set()
        assert (await work.receipt()).content == "late"
        assert not work.alive

    async def test_cancelling_reports_that_it_goes_on(self, gate: Gate) -> None:
        monitor = Monitor()
        task = asyncio.create_task(perform(slow(gate), monitor))
        await asyncio.to_thread(gate.started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert monitor.works[0].alive

    async def test_a_coroutine_that_swallows_its_cancellation_is_ambiguous_too(self) -> None:
        release = asyncio.Event()

        @tool(timeout=0.05)
        async def deaf() -> str:
            """Be deaf."""
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        monitor = Monitor()
        assert (await perform(deaf, monitor)).status == "ambiguous"
        release.set()
        assert (await monitor.works[0].receipt()).content == "late"

    async def test_where_all_threads_are_busy_a_call_has_not_started(self, gate: Gate) -> None:
        blocked = await asyncio.gather(
            *(perform(slow(gate, effect="pure")) for _ in range(threads.MAX_THREADS))
        )
        assert {receipt.status for receipt in blocked} == {"timeout"}
        other = Gate()
        late = await perform(slow(other))
        assert (late.status, "threads are busy" in late.content) == ("error", True)
        assert not other.started.is_set()

    def test_a_coroutine_has_no_thread(self) -> None:
        async def wait() -> None:
            """Wait."""

        with pytest.raises(ToolDefinitionError, match="event loop"):
            tool(isolation="thread")(wait)


class TestRuns:
    async def test_the_late_result_is_recorded_and_nothing_shares_its_resources_meanwhile(
        self, gate: Gate
    ) -> None:
        order: list[str] = []

        @tool(effect="once", resources=["db"], timeout=20)
        def write() -> str:
            """Write."""
            order.append("write")
            return "written"

        @tool(effect="pure", resources=["other"])
        def read() -> str:
            """Read something else."""
            order.append("read")
            gate.open.set()
            order.append("let go")
            return "read"

        held = slow(gate, effect="once", resources=["db"])
        script = [reply(call("slow")), reply(call("write"), call("read")), say("Done.")]
        agent = Agent(kind="chat", model=ScriptedProvider(script), tools=[held, write, read])
        async with World.in_memory() as world:
            run = await world.run("Go.", agent)
            assert [status for status, _ in results(run)] == ["ambiguous", "ok", "ok"]
            assert order == ["read", "let go", "write"]
            late = [e for e in await events_of(world, run.id) if isinstance(e, ReceiptIgnored)]
            assert [(e.what, e.status, e.content) for e in late] == [("ToolReturned", "ok", "late")]
            assert (await world.archive.replay(run.id, model=ScriptedProvider([]))).identical

    async def test_what_would_wait_for_ever_is_answered_and_did_not_start(self, gate: Gate) -> None:
        began: list[int] = []

        @tool(effect="once", resources=["db"], timeout=0.1)
        def write() -> None:
            """Write."""
            began.append(1)

        held = slow(gate, effect="once", resources=["db"])
        script = [reply(call("slow")), reply(call("write")), say("Done.")]
        agent = Agent(kind="chat", model=ScriptedProvider(script), tools=[held, write])
        async with World.in_memory() as world:
            run = await world.run("Go.", agent)
        assert [status for status, _ in results(run)] == ["ambiguous", "error"]
        assert "did not start" in results(run)[1][1] and "slow" in results(run)[1][1]
        assert began == []

    @pytest.mark.parametrize(("effect", "status"), [("once", "ambiguous"), ("pure", "cancelled")])
    async def test_of_a_cancelled_run_it_is_ambiguous_unless_it_is_pure(
        self, gate: Gate, effect: str, status: str
    ) -> None:
        @tool(effect=effect)  # type: ignore[call-overload,untyped-decorator,unused-ignore]
        def wait() -> str:
            """Wait."""
            return gate()

        agent = Agent(kind="chat", model=ScriptedProvider([reply(call("wait"))]), tools=[wait])
        async with World.in_memory() as world:
            task = asyncio.create_task(world.run("Go.", agent, run_id="r"))
            await asyncio.to_thread(gate.started.wait)
            await world.send("r", Cancel(reason="enough"))
            run = await task
            assert run.status == "cancelled"
            assert [found for found, _ in results(run)] == [status]
            assert (await world.archive.replay("r", model=ScriptedProvider([]))).identical

    @pytest.mark.parametrize("keeps_locks", [True, False])
    async def test_resumed_while_it_goes_on_it_is_not_repeated(
        self, gate: Gate, keeps_locks: bool, tmp_path: Path
    ) -> None:
        begun: list[int] = []

        @tool(effect="idempotent")
        def wait() -> str:
            """Wait."""
            begun.append(1)
            return gate()

        script = [reply(call("wait")), say("Done.")]
        agent = Agent(kind="chat", model=ScriptedProvider(script), tools=[wait])
        config = Config(home=tmp_path)
        opened = World.open(config) if keeps_locks else World.in_memory(config)
        async with opened as world:
            task = asyncio.create_task(world.run("Go.", agent, run_id="r"))
            await asyncio.to_thread(gate.started.wait)
            task.cancel()
            await asyncio.wait((task,))
            locks = await asyncio.to_thread(lambda: list(tmp_path.glob("*/calls/*")))
            assert len(locks) == keeps_locks, "another process learns of it by the call's lock"
            run = await world.resume("r", agent)
        assert [status for status, _ in results(run)] == ["ambiguous"]
        assert begun == [1]


STUCK = """
import threading, artificer
from artificer.providers.scripted import call, reply, say

@artificer.tool(timeout=0.1)
def stuck() -> None:
    "Never end."
    threading.Event().wait()

model = artificer.ScriptedProvider([reply(call("stuck")), say("Done.")])
run = artificer.run("Go.", model=model, tools=[stuck], kind="chat")
print(run.status)
"""


def test_a_program_ends_though_a_thread_goes_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK],
        cwd=tmp_path,
        env={**os.environ, "ARTIFICER_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "completed"), done.stderr


def test_the_rule_holds_in_an_event_loop_after_that_of_the_call(gate: Gate) -> None:
    """A thread belongs to no event loop: a script's runs each have one of their own."""
    held = slow(gate, effect="once", resources=["loops"])

    @tool(effect="once", resources=["loops"], timeout=0.1)
    def write() -> None:
        """Write."""

    async def run(script: list[Any]) -> Run:
        agent = Agent(kind="chat", model=ScriptedProvider(script), tools=[held, write])
        async with World.in_memory() as world:
            return await world.run("Go.", agent)

    asyncio.run(run([reply(call("slow")), say("Done.")]))
    second = asyncio.run(run([reply(call("write")), say("Done.")]))
    assert [status for status, _ in results(second)] == ["error"]
    gate.open.set()

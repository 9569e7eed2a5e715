"""Every executor of ours behaves as the port says, and the suite notices those that do not."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.contracts.capabilities import Capabilities, Grant, Host
from artificer.contracts.definition import ToolDefinition
from artificer.ports import Call, Executor, Receipt
from artificer.testing.executor_suite import CallOf, EndlessCallSuite, ExecutorSuite, call_of
from artificer.testing.rig import HandMade, SteppingClock
from artificer.wiring.resources import CheckedParts, WorldResources
from artificer.wiring.storage import memory_storage
from artificer.wiring.toolbox import build_tools
from suite_faults import faults

pytestmark = pytest.mark.req("suite-executor")


@tool(effect="pure")
async def reading(key: str) -> dict[str, int]:
    """Look something up."""
    return {"a": {"value": 1}}[key]


@tool(effect="pure")
def in_a_thread(key: str) -> dict[str, int]:
    """Look something up."""
    return {"a": {"value": 1}}[key]


@tool(effect="pure")
async def endless_reading(key: str) -> str:
    """Wait."""
    await asyncio.sleep(100)
    return key


@tool(effect="once", isolation="process")
def endless_process(key: str) -> str:
    """Wait."""
    time.sleep(100)
    return key


MANIFEST = f"""
[tool]
name = "python"
version = "1"
binary = {json.dumps(sys.executable)}
description = "Run some code."
[command]
exec = [{json.dumps(sys.executable)}, "-c", "{{code}}"]
[args.code]
type = "string"
required = true
description = "The code."
"""


@pytest.fixture
async def executors(tmp_path: Path) -> AsyncIterator[dict[str, Executor]]:
    """The executors of a run that has tools of many backends."""
    tools, files = tmp_path / "tools", tmp_path / "files"
    tools.mkdir()
    files.mkdir()
    (tools / "python.clad.toml").write_text(MANIFEST)
    (files / "a.txt").write_text("one\n")
    world = WorldResources(
        Config(home=tmp_path), memory_storage(), CheckedParts.of(clock=SteppingClock())
    )
    box = build_tools(
        [tools, reading, in_a_thread, endless_reading, endless_process],
        kind="chat",
        world=world,
        capabilities=Capabilities(
            host=Host(folder=str(files)), workspaces=(Grant(names=("notes",)),), introspect=True
        ),
    )
    yield dict(box.executors)
    await world.aclose()


CASES: dict[str, tuple[CallOf, CallOf]] = {
    "a coroutine": (("reading", {"key": "a"}), ("reading", {"key": "b"})),
    "a thread": (("in_a_thread", {"key": "a"}), ("in_a_thread", {"key": "b"})),
    "a command": (("python", {"code": "print(1)"}), ("python", {"code": "raise SystemExit(3)"})),
    "a folder": (("host.read", {"path": "a.txt"}), ("host.read", {"path": "b.txt"})),
    "a workspace": (
        ("workspace.list", {"workspace": "notes"}),
        ("workspace.read", {"workspace": "notes", "path": "b.txt"}),
    ),
}


class TestOurs(ExecutorSuite):
    """Those of a run with tools of many backends."""

    @pytest.fixture(params=CASES)
    def case(self, request: pytest.FixtureRequest) -> tuple[CallOf, CallOf]:
        return CASES[request.param]

    @pytest.fixture
    def executor(self, executors: dict[str, Executor], case: tuple[CallOf, CallOf]) -> Executor:
        return executors[case[0][0]]

    @pytest.fixture
    def working(self, case: tuple[CallOf, CallOf]) -> CallOf:
        return case[0]

    @pytest.fixture
    def failing(self, case: tuple[CallOf, CallOf]) -> CallOf:
        return case[1]


class TestOursThatTakeLong(EndlessCallSuite):
    @pytest.fixture(params=["endless_reading", "endless_process", "python"])
    def endless(self, request: pytest.FixtureRequest) -> CallOf:
        code = "import time; time.sleep(100)"
        return request.param, {"code": code} if request.param == "python" else {"key": "a"}

    @pytest.fixture
    def executor(self, executors: dict[str, Executor], endless: CallOf) -> Executor:
        return executors[endless[0]]


def hand_made() -> HandMade:
    """The executor of our tests."""

    async def look_up(call: Call) -> Receipt | str:
        found = {"a": "1"}.get(str(call.arguments["key"]))
        return found or Receipt(status="error", content="There is nothing of that name.")

    made = HandMade()
    made.add("look_up", look_up)
    return made


@pytest.mark.req("world-clock")
async def test_the_evidence_of_a_world_has_the_time_of_its_clock(
    executors: dict[str, Executor],
) -> None:
    executor = executors["python"]
    receipt = await executor.execute(call_of(executor, ("python", {"code": "print(1)"})))
    assert json.loads(receipt.evidence or "")["timestamp"].startswith("2023-11-14T22:13:20.")


class TestHandMade(ExecutorSuite):
    @pytest.fixture
    def executor(self) -> Executor:
        return hand_made()

    @pytest.fixture
    def working(self) -> CallOf:
        return "look_up", {"key": "a"}

    @pytest.fixture
    def failing(self) -> CallOf:
        return "look_up", {"key": "b"}


class Wrapped:
    """Does as a good executor does. Subclasses do one thing wrong."""

    def __init__(self) -> None:
        self.inner = hand_made()

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        return self.inner.tools

    async def execute(self, call: Call) -> Any:
        return await self.inner.execute(call)


class Changing(Wrapped):
    """Its tools have other descriptions every time."""

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        return tuple(t.replace(description=f"At {time.time_ns()}.") for t in self.inner.tools)


class Raising(Wrapped):
    async def execute(self, call: Call) -> Any:
        return {"a": await self.inner.execute(call)}[call.arguments["key"]]


class Plain(Wrapped):
    async def execute(self, call: Call) -> Any:
        return (await self.inner.execute(call)).content


class Silent(Wrapped):
    async def execute(self, call: Call) -> Any:
        return (await self.inner.execute(call)).replace(content="")


class Broken(Wrapped):
    async def execute(self, call: Call) -> Any:
        return (await self.inner.execute(call)).replace(data="{not JSON")


class Greedy(Wrapped):
    async def execute(self, call: Call) -> Any:
        receipt = await self.inner.execute(call)
        call.arguments.clear()
        return receipt


class OneCall(Wrapped):
    """It remembers one call, and mixes up those that are made at the same time."""

    call: Call | None = None

    async def execute(self, call: Call) -> Any:
        self.call = call
        await asyncio.sleep(0)
        return await self.inner.execute(self.call)


class Deaf(Wrapped):
    """It goes on after it was cancelled."""

    async def execute(self, call: Call) -> Any:
        for _ in range(100):
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        return await self.inner.execute(call)


class Boasting(Wrapped):
    def preview(self, call: Call) -> Any:
        return "It would look something up."


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        (Changing, "test_its_tools_stay_the_same"),
        (Raising, "test_a_call_that_fails_is_a_receipt_too"),
        (Plain, "test_a_call_that_works_is_a_receipt"),
        (Broken, "test_a_call_that_works_is_a_receipt"),
        (Silent, "test_a_call_that_fails_is_a_receipt_too"),
        (Greedy, "test_arguments_stay_as_the_gate_passed_them"),
        (OneCall, "test_calls_do_not_disturb_each_other"),
        (Deaf, "test_a_cancelled_call_ends"),
        (Boasting, "test_what_it_can_do_besides_is_of_the_right_type"),
    ],
)
async def test_a_wrong_executor_is_noticed(wrong: Any, noticed_by: str) -> None:
    found = await faults(
        ExecutorSuite,
        noticed_by,
        executor=wrong,
        working=lambda: ("look_up", {"key": "a"}),
        failing=lambda: ("look_up", {"key": "b"}),
    )
    assert found == {noticed_by}


async def test_a_call_without_an_end_is_noticed() -> None:
    class Endless(Wrapped):
        async def execute(self, call: Call) -> Any:
            await asyncio.sleep(100)

    endless = {"endless": lambda: ("look_up", {"key": "a"}), "at_work": lambda: lambda: 0}
    assert await faults(EndlessCallSuite, executor=Endless, **endless) == {
        "test_a_call_ends_in_its_time"
    }
    assert await faults(EndlessCallSuite, executor=Deaf, **endless) == {
        "test_a_call_ends_in_its_time",
        "test_a_long_call_ends_when_it_is_cancelled",
    }


async def test_work_that_goes_on_after_its_call_is_noticed() -> None:
    """Whether the time was up or the call was cancelled: its receipt alone proves nothing."""
    going = threading.Event()
    at_work: list[None] = []

    def work() -> None:
        at_work.append(None)
        going.wait()

    class Abandoning(Wrapped):
        async def execute(self, call: Call) -> Any:
            thread = asyncio.get_running_loop().run_in_executor(pool, work)
            try:
                await asyncio.wait_for(asyncio.shield(thread), call.definition.timeout_ms / 1000)
            except TimeoutError:
                return Receipt(status="timeout", content="The time was up.")

    with ThreadPoolExecutor() as pool:
        found = await faults(
            EndlessCallSuite,
            executor=Abandoning,
            endless=lambda: ("look_up", {"key": "a"}),
            at_work=lambda: lambda: len(at_work),
        )
        going.set()
    assert found == {"test_a_call_ends_in_its_time", "test_a_long_call_ends_when_it_is_cancelled"}

"""Dependencies: what a program passes to its functions, and what no model and no journal sees."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from artificer import Agent, ForkChanges, RunContext, World, run, tool
from artificer.config import Config
from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine
from artificer.errors import AuthorError, ToolDefinitionError
from artificer.events import CallProgressed
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.model import ModelFailure

pytestmark = pytest.mark.req("function-context")

SECRET = "hunter2-hunter2"
DOWN = ModelFailure(code="unavailable", message="down")


@dataclass
class Bank:
    """The dependencies of these tests."""

    password: str = SECRET
    seen: list[tuple[str, str, str, int]] = field(default_factory=list)


@tool(effect="keyed")
def pay(ctx: RunContext[Bank], amount: int) -> str:
    """Pay an amount."""
    ctx.deps.seen.append((ctx.run_id, ctx.call_id, ctx.key, amount))
    ctx.logger.info("paying")
    ctx.progress("Contacting the bank")
    ctx.progress("Paying", done=1, total=2)
    return "paid"


@tool(effect="pure")
async def balance(ctx: RunContext[Bank]) -> int:
    """Return the balance."""
    ctx.progress("Adding up")
    return sum(amount for *_, amount in ctx.deps.seen)


def agent_of(*script: Any, **fields: Any) -> Agent:
    return Agent(kind="chat", model=ScriptedProvider(list(script)), tools=[pay, balance], **fields)


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def test_the_schema_lacks_the_context() -> None:
    assert list(pay.definition.input_schema["properties"]) == ["amount"]  # type: ignore[call-overload,arg-type]
    assert balance.definition.input_schema["properties"] == {}


async def test_functions_receive_the_dependencies_and_no_journal_holds_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bank = Bank()
    agent = agent_of(reply(call("pay", amount=5)), reply(call("balance")), say("Done."))
    with caplog.at_level(logging.INFO, logger="artificer.tools"):
        async with World.open(Config(home=tmp_path)) as world:
            run = await agent.run("Pay.", world=world, run_id="r", deps=bank)
            history = await world.archive.history("r")
    assert run.status == "completed"
    ((run_id, call_id, key, amount),) = bank.seen
    assert (run_id, amount) == ("r", 5) and len(key) == 64
    assert call_id in [c.id for message in run.state.history for c in message.calls]
    (record,) = [r for r in caplog.records if r.name == "artificer.tools.pay"]
    assert (vars(record)["run_id"], vars(record)["call_id"]) == ("r", call_id)
    assert not any(SECRET.encode() in line.canonical() for line in history.lines)
    assert not any(SECRET.encode() in data for data in contents(tmp_path))


async def test_progress_is_an_event_of_the_stream_and_no_record() -> None:
    agent = agent_of(reply(call("pay", amount=5)), reply(call("balance")), say("Done."))
    async with (
        World.in_memory() as world,
        agent.stream("Pay.", world=world, deps=Bank()) as stream,
    ):
        events = [event async for event in stream]
        lines = (await world.archive.history(stream.run_id)).lines
    reports = [e for e in events if isinstance(e, CallProgressed)]
    assert [(e.tool, e.message, e.done, e.total) for e in reports] == [
        ("pay", "Contacting the bank", None, None),
        ("pay", "Paying", 1, 2),
        ("balance", "Adding up", None, None),
    ]
    types = [e.type for e in events]
    assert types.index("call_started") < types.index("call_progressed")
    assert types.index("call_progressed") < types.index("call_finished")
    assert not any(b"Contacting" in line.canonical() for line in lines)


async def test_whoever_continues_a_run_passes_them_again() -> None:
    first, second, third = Bank(), Bank(), Bank()
    agent = agent_of(DOWN, reply(call("pay", amount=5)), say("Paid."), say("And?"))
    async with World.in_memory() as world:
        stalled = await agent.run("Pay.", world=world, deps=first)
        with pytest.raises(ToolDefinitionError, match="needs dependencies of type Bank"):
            await agent.resume(stalled, world=world)
        assert (await agent.resume(stalled, world=world, deps=second)).text == "Paid."
        assert (await agent.follow_up(stalled, "Go on.", world=world, deps=third)).text == "And?"
    assert [len(bank.seen) for bank in (first, second, third)] == [0, 1, 0]


@pytest.mark.parametrize("approved", [True, False])
async def test_they_are_passed_with_an_answer(approved: bool) -> None:
    bank = Bank()
    policy = Policy(rules=(Rule(decision="ask", tool="pay"),))
    agent = agent_of(reply(call("pay", amount=5)), say("Done."), policy=policy)
    async with World.in_memory() as world:
        waiting = await agent.run("Pay.", world=world, deps=Bank())
        answer = agent.approve if approved else agent.deny
        assert (await answer(waiting, world=world, deps=bank)).status == "completed"
    assert len(bank.seen) == approved


async def test_a_fork_has_its_own() -> None:
    bank = Bank()
    agent = agent_of(say("One."), reply(call("pay", amount=5)), say("Two."))
    async with World.in_memory() as world:
        origin = await agent.run("Pay.", world=world, deps=Bank())
        assert (await agent.fork(origin, world=world, deps=bank)).text == "Two."
    assert len(bank.seen) == 1


def test_the_shortest_way_takes_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFICER_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    bank = Bank()
    agent = agent_of(reply(call("pay", amount=5)), say("Done."))
    assert run("Pay.", agent, deps=bank).status == "completed"
    assert len(bank.seen) == 1


async def test_a_run_without_them_does_not_start() -> None:
    async with World.in_memory() as world:
        with pytest.raises(ToolDefinitionError, match="the run has none") as caught:
            await agent_of(say("Done.")).run("Pay.", world=world)
        assert await world.archive.runs() == []
    assert "deps=" in str(caught.value.hint) and "'pay'" in caught.value.message


T = TypeVar("T")


class Box(Generic[T]):
    """A generic type of dependencies."""


async def test_a_function_that_can_do_without_them_runs_without_them() -> None:
    @tool
    def any_of_them(ctx: RunContext[Any], n: int) -> str:
        """Look."""
        return str(ctx.deps)

    @tool
    def none_or_some(ctx: RunContext[Box[int] | None]) -> str:
        """Look."""
        return str(ctx.deps)

    script = [reply(call("any_of_them", n=1), call("none_or_some")), say("Done.")]
    tools = [any_of_them, none_or_some]
    async with World.in_memory() as world:
        agent = Agent(kind="chat", model=ScriptedProvider(script), tools=tools)
        assert (await agent.run("Look.", world=world)).status == "completed"


def test_the_context_comes_first() -> None:
    def late(amount: int, ctx: RunContext[Bank]) -> None:
        """Pay."""

    with pytest.raises(ToolDefinitionError, match="after other parameters") as caught:
        tool(late)
    assert caught.value.hint == "Make 'ctx' the first parameter."


@pytest.mark.req("instructions-function")
@pytest.mark.parametrize("as_async", [False, True])
async def test_instructions_are_written_once_and_recorded(as_async: bool) -> None:
    calls: list[RunContext[Bank]] = []

    def write(ctx: RunContext[Bank]) -> str:
        calls.append(ctx)
        return f"You work for run {ctx.run_id}."

    async def write_async(ctx: RunContext[Bank]) -> str:
        return write(ctx)

    agent = agent_of(
        DOWN, say("Hello."), say("Again."), instructions=write_async if as_async else write
    )
    async with World.in_memory() as world:
        stalled = await agent.run("Hello.", world=world, run_id="r", deps=Bank())
        assert stalled.state.run_spec.system == "You work for run r."
        await agent.resume("r", world=world, deps=Bank())
        assert len(calls) == 1
        fork = await agent.fork("r", world=world, new_id="f", deps=Bank())
        assert fork.state.run_spec.system == "You work for run f."
        lines = (await world.archive.history("r")).lines
        assert isinstance(lines[0], EventLine)


@pytest.mark.req("instructions-function")
async def test_instructions_that_are_no_text_are_refused() -> None:
    agent = agent_of(say("Hello."), instructions=lambda ctx: None)  # type: ignore[arg-type,return-value]
    async with World.in_memory() as world:
        with pytest.raises(AuthorError, match="returned NoneType"):
            await agent.run("Hello.", world=world, deps=Bank())
        assert await world.archive.runs() == []


TYPED = '''
from dataclasses import dataclass
from artificer import Agent, RunContext, World, tool

@dataclass
class Deps:
    rows: list[str]

@tool(effect="once", resources=["db"])
def add(ctx: RunContext[Deps], row: str) -> int:
    """Add a row."""
    ctx.progress("adding", done=1, total=1)
    ctx.deps.rows.append(row)
    return len(ctx.deps.rows)

def write(ctx: RunContext[Deps]) -> str:
    return f"There are {len(ctx.deps.rows)} rows."

agent = Agent("openai/gpt-5", tools=[add], instructions=write)

async def main() -> str:
    async with World.open() as world:
        run = await agent.run("Add a row.", world=world, deps=Deps([]))
        async with agent.stream("Add a row.", world=world, deps=Deps([])) as stream:
            run = await stream.result()
        return run.text
'''

WRONG = TYPED.replace("ctx.deps.rows.append(row)", "ctx.deps.rows.append(1)")


def test_a_program_passes_mypy_unless_it_uses_its_dependencies_wrongly(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text(WRONG)
    # With the settings of a user, in a cache apart: those of `make types` differ.
    cache = str(Path(__file__).parents[1] / ".mypy_cache" / "programs")
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "right.py", "wrong.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    (error,) = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert error.startswith("wrong.py:13:") and error.endswith("[arg-type]")


@pytest.mark.req("agent-deps-factory")
class TestAFactory:
    """An agent makes the dependencies of its runs, where a call passes none."""

    async def test_it_makes_them_for_a_run_and_whoever_continues_it(self) -> None:
        made: list[Bank] = []

        async def bank() -> Bank:
            made.append(Bank())
            return made[-1]

        def greeting(ctx: RunContext[Bank]) -> str:
            return f"{len(ctx.deps.seen)} payments."

        agent = agent_of(
            DOWN,
            reply(call("pay", amount=5)),
            say("Paid."),
            say("And?"),
            say("Forked."),
            deps_factory=bank,
            instructions=greeting,
        )
        async with World.in_memory() as world:
            stalled = await agent.run("Pay.", world=world)
            assert stalled.state.run_spec.system == "0 payments."
            assert (await agent.resume(stalled, world=world)).text == "Paid."
            assert (await agent.follow_up(stalled, "Go on.", world=world)).text == "And?"
            assert (await agent.fork(stalled, world=world)).status == "completed"
        assert [len(bank.seen) for bank in made] == [0, 1, 0, 0]

    async def test_what_is_passed_comes_first(self) -> None:
        passed = Bank()
        agent = agent_of(reply(call("pay", amount=5)), say("Paid."), deps_factory=Bank)
        async with World.in_memory() as world:
            await agent.run("Pay.", world=world, deps=passed)
        assert len(passed.seen) == 1

    async def test_a_child_run_gets_those_of_its_caller_or_makes_its_own(self) -> None:
        passed, own = Bank(), Bank()
        for given, deps in ((passed, passed), (None, own)):
            child = agent_of(reply(call("pay", amount=5)), say("Paid."), deps_factory=lambda: own)
            model = ScriptedProvider([reply(call("till", prompt="Pay.")), say("Done.")])
            caller: Agent = Agent(model, kind="chat", tools=[child.as_tool("till", "Pays.")])
            async with World.in_memory() as world:
                await caller.run("Go.", world=world, deps=given)
            assert len(deps.seen) == 1

    async def test_an_exception_of_it_begins_no_run(self) -> None:
        def broken() -> Bank:
            raise ConnectionError("no database")

        async with World.in_memory() as world:
            with pytest.raises(ConnectionError, match="no database"):
                await agent_of(deps_factory=broken).run("Pay.", world=world, run_id="r")
            assert await world.archive.runs() == []

    def test_a_value_is_refused_with_the_way_to_pass_it(self) -> None:
        with pytest.raises(AuthorError, match="not a function") as caught:
            agent_of(deps_factory=Bank())
        assert "run(…, deps=…)" in str(caught.value.hint)


def test_a_run_without_them_is_refused_before_its_instructions_are_written() -> None:
    agent = agent_of(instructions=lambda ctx: ctx.deps.password)
    with pytest.raises(ToolDefinitionError, match="needs dependencies of type Bank") as caught:
        agent.run_sync("Pay.", world=World.in_memory())
    assert "Agent(…, deps_factory=make)" in f"{caught.value.hint}"


@pytest.mark.req("agent-blocking-fork")
def test_a_fork_in_a_script() -> None:
    world = World.in_memory()
    agent = Agent(ScriptedProvider([say("One."), say("Two.")]), kind="chat")
    first = agent.run_sync("Count.", world=world)
    second = agent.fork_sync(first, ForkChanges(prompt="Count on."), world=world)
    assert (first.text, second.text) == ("One.", "Two.")

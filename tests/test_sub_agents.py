"""Agents as tools: each call is a child run, started once, whose usage counts for the caller."""

from __future__ import annotations

import pytest

from artificer import (
    Agent,
    Answer,
    Limits,
    Policy,
    Question,
    Rule,
    RunContext,
    ScriptedProvider,
    World,
    tool,
)
from artificer.errors import ToolDefinitionError
from artificer.providers.scripted import call, reply, say

pytestmark = pytest.mark.req("sub-agents")


def pair(writer: list[object], editor: list[object], **options: object) -> Agent:
    """An editor that may call a writer."""
    child = Agent(ScriptedProvider(writer), kind="chat")  # type: ignore[arg-type]
    tools = [child.as_tool("write", "Write a paragraph.")]
    return Agent(ScriptedProvider(editor), kind="chat", tools=tools, **options)  # type: ignore[arg-type]


async def children(world: World, run: str) -> list[str]:
    return [name for name in await world.archive.runs() if name.startswith(f"{run}.")]


async def test_a_call_is_a_child_run_whose_usage_counts() -> None:
    agent = pair([say("Once.")], [reply(call("write", prompt="Tell.")), say("Done.")])
    async with World.in_memory() as world:
        run = await world.run("Edit.", agent)
        assert (run.status, run.text) == ("completed", "Done.")
        [child_id] = await children(world, run.id)
        child = await world.get(child_id)
        assert (child.text, child.state.run_spec.parent) == ("Once.", run.id)
        assert run.usage.output_tokens == 15
        for name in (run.id, child_id):
            assert (await world.archive.replay(name)).divergence is None


async def test_a_child_stays_within_the_tokens_of_its_caller() -> None:
    agent = pair(
        [say("Once.")],
        [reply(call("write", prompt="Tell.")), say("Done.")],
        limits=Limits(total_tokens=100_000),
    )
    async with World.in_memory() as world:
        run = await world.run("Edit.", agent)
        child = await world.get((await children(world, run.id))[0])
        assert child.state.run_spec.limits.total_tokens == 100_000 - 15


async def test_a_child_without_an_answer_is_an_error_that_names_its_run() -> None:
    child = Agent(ScriptedProvider([reply(call("nothing"))]), kind="chat", limits=Limits(turns=1))
    model = ScriptedProvider([reply(call("write", prompt="Tell.")), say("Done.")])
    agent = Agent(model, kind="chat", tools=[child.as_tool("write", "Write.")])
    async with World.in_memory() as world:
        run = await world.run("Edit.", agent)
        [child_id] = await children(world, run.id)
        result = run.state.history[2].blocks[0]
        assert f"{child_id} of this agent is failed" in result.content  # type: ignore[union-attr]


async def test_after_a_crash_the_same_child_goes_on() -> None:
    class Crash(BaseException):
        """The end of the process."""

    def crash(body: object) -> object:
        raise Crash

    first = pair(crash, [reply(call("write", prompt="Tell."))])  # type: ignore[arg-type]
    again = pair([say("Once.")], [say("Done.")])
    async with World.in_memory() as world:
        with pytest.raises(Crash):
            await world.run("Edit.", first, run_id="r")
        run = await world.resume("r", again)
        assert (run.status, run.text) == ("completed", "Done.")
        assert len(await children(world, "r")) == 1


async def test_the_approver_of_the_caller_answers_for_the_child() -> None:
    class Boss:
        async def ask(self, question: Question) -> Answer:
            return Answer(approved=True, by="boss")

    @tool
    async def act() -> str:
        """Act."""
        return "acted"

    child = Agent(
        ScriptedProvider([reply(call("act")), say("It is done.")]),
        kind="chat",
        tools=[act],
        policy=Policy(rules=(Rule(decision="ask", tool="act"),)),
    )
    model = ScriptedProvider([reply(call("write", prompt="Act.")), say("Done.")])
    agent = Agent(model, kind="chat", tools=[child.as_tool("write", "Act.")])
    async with World.in_memory() as world:
        run = await world.run("Go.", agent, approver=Boss())
        assert "It is done." in str(run.state.history[2])


def test_an_unusable_name_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="no name"):
        Agent("local/smollm2").as_tool("no name", "Nothing.")


class Shop:
    """A dependency of the functions."""

    def __init__(self) -> None:
        self.sold: list[str] = []


@tool
async def sell(ctx: RunContext[Shop], item: str) -> str:
    """Sell it."""
    ctx.deps.sold.append(item)
    return "sold"


@pytest.mark.req("child-deps")
async def test_a_child_has_the_dependencies_of_its_caller() -> None:
    class Crash(BaseException):
        """The end of the process."""

    def crash(body: object) -> object:
        raise Crash

    def asked(ctx: RunContext[Shop]) -> str:
        return f"Nothing but {type(ctx.deps).__name__}."

    def seller(model: ScriptedProvider) -> Agent:
        return Agent(model, kind="chat", tools=[sell], instructions=asked)

    first, shop = Shop(), Shop()
    async with World.in_memory() as world:
        model = ScriptedProvider([reply(call("write", prompt="Sell tea."))])
        dying = seller(ScriptedProvider(crash))  # type: ignore[arg-type]
        agent = Agent(model, kind="chat", tools=[dying.as_tool("write", "Sell.")])
        with pytest.raises(Crash):
            await world.run("Sell.", agent, run_id="r", deps=first)
        child = seller(ScriptedProvider([reply(call("sell", item="tea")), say("Sold.")]))
        agent = Agent(
            ScriptedProvider([say("Done.")]), kind="chat", tools=[child.as_tool("write", "Sell.")]
        )
        run = await world.resume("r", agent, deps=shop)
        assert (run.text, first.sold, shop.sold) == ("Done.", [], ["tea"])
        began = await world.get(run.children[0])
        assert began.state.run_spec.system == "Nothing but Shop."

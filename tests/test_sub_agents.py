"""Agents as tools: each call is a child run, started once, whose usage counts for the caller."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from artificer import (
    Agent,
    Answer,
    Config,
    Limits,
    Policy,
    Question,
    Rule,
    RunContext,
    ScriptedProvider,
    World,
    tool,
)
from artificer.errors import ArtificerError, Fenced, ToolDefinitionError
from artificer.ports import Amount
from artificer.providers.scripted import call, reply, say
from artificer.values.model import ModelReply

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


@pytest.mark.req("sub-agents-cancelled")
async def test_a_child_whose_caller_is_cancelled_before_it_begins_does_nothing(
    tmp_path: Path,
) -> None:
    """Its servers may take seconds to start; the cancellation finds no run yet.

    Its process may begin it before it learns of the cancellation, or end the call first.
    """
    about_to_begin, go, paid = asyncio.Event(), asyncio.Event(), list[str]()

    @tool(effect="once")
    def pay() -> str:
        """Pay."""
        paid.append("paid")
        return "Paid."

    async def instructions(ctx: RunContext) -> str:
        about_to_begin.set()
        await go.wait()
        return "Pay."

    payer = ScriptedProvider([reply(call("pay")), say("Paid.")])
    child = Agent(payer, kind="chat", tools=[pay], instructions=instructions)
    buyer = ScriptedProvider([reply(call("shop", prompt="Buy tea."))])
    agent = Agent(buyer, kind="chat", tools=[child.as_tool("shop", "Buy.")])
    config = Config(home=tmp_path, project="p")
    async with World.open(config) as world, World.open(config) as other:
        running = asyncio.create_task(world.run("Tea.", agent, run_id="r"))
        await about_to_begin.wait()
        assert (await other.cancel("r", "Enough.")).status == "cancelled"
        go.set()
        with pytest.raises(Fenced):
            await running
        for name in await children(world, "r"):
            assert (await world.get(name)).status == "cancelled"
            assert (await world.archive.replay(name)).identical
        assert (paid, payer.requests) == ([], [])
        spent = await world.storage.budget.spent("run:r", world.clock.now())
        assert spent.reserved == Amount()


@pytest.mark.req("child-taken-over")
async def test_the_run_of_a_call_ends_when_its_caller_is_taken_over(tmp_path: Path) -> None:
    """Its former owner would execute it still, and nobody reads its answer."""
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    def model(first: ModelReply, last: str) -> ScriptedProvider:
        return ScriptedProvider(lambda body: first if len(body["messages"]) < 3 else say(last))

    child = Agent(model(reply(call("wait")), "Waited."), kind="chat", tools=[wait])
    kid = child.as_tool("kid", "Wait.")
    agent = Agent(model(reply(call("kid", prompt="Go.")), "Done."), kind="chat", tools=[kid])
    config = Config(home=tmp_path, project="p")
    async with World.open(config) as stuck, World.open(config) as other:
        former = asyncio.create_task(stuck.run("Hi.", agent, run_id="x"))
        await begun.wait()
        taken = await other.resume("x", agent, take_over=True)
        assert taken.text == "Done."
        (node,) = await other.archive.children("x")
        ended = await other.get(node.run)
        assert ended.status == "cancelled"
        assert (await other.archive.verify()).sound
        former.cancel()
        with suppress(asyncio.CancelledError, ArtificerError):
            await former


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


@pytest.mark.req("child-deps")
@pytest.mark.parametrize("own", [False, True], ids=["of its caller", "its own"])
async def test_a_run_whose_child_lacks_dependencies_does_not_start(own: bool) -> None:
    """A model could do nothing about it, and its run would seem complete."""
    seller = Agent(
        ScriptedProvider([reply(call("sell", item="tea")), say("Sold.")]),
        kind="chat",
        tools=[sell],
        deps_factory=Shop if own else None,
    )
    manager = Agent(
        ScriptedProvider([reply(call("sell_it", prompt="Sell tea.")), say("Sold.")]),
        kind="chat",
        tools=[seller.as_tool("sell_it", "Sell.")],
    )
    agent = Agent(
        ScriptedProvider([reply(call("manage", prompt="Sell tea.")), say("Done.")]),
        kind="chat",
        tools=[manager.as_tool("manage", "Manage.")],
    )
    async with World.in_memory() as world:
        if own:
            assert (await world.run("Go.", agent)).text == "Done."
            return
        with pytest.raises(ToolDefinitionError, match="needs dependencies of type Shop"):
            await world.run("Go.", agent)
        assert await world.archive.runs() == []
        assert (await world.run("Go.", agent, deps=Shop())).text == "Done."


@pytest.mark.req("child-own-deps")
class TestDependenciesOfItsOwn:
    """A child may have others than its caller: a value, or what a function returns."""

    @staticmethod
    def pair(
        deps: object, *, handoff: bool = False, dying: bool = False, goes_on: bool = False
    ) -> Agent:
        class Crash(BaseException):
            """The end of the process."""

        def crash(body: object) -> object:
            raise Crash

        script = crash if dying else [reply(call("sell", item="tea")), say("Sold.")]
        child = Agent(ScriptedProvider(script), kind="chat", tools=[sell])  # type: ignore[arg-type]
        made = child.as_handoff if handoff else child.as_tool
        asked = call("transfer_to_shop" if handoff else "shop", prompt="Sell tea.")
        model = ScriptedProvider([say("Done.")] if goes_on else [reply(asked), say("Done.")])
        return Agent(model, kind="chat", tools=[made("shop", "Sells.", deps=deps)])

    async def run(self, deps: object, own: object = None, **options: bool) -> tuple[str, str]:
        async with World.in_memory() as world:
            run = await world.run("Go.", self.pair(deps, **options), run_id="r", deps=own)
            said = "".join(str(message) for message in run.state.history)
            return run.status, said

    @pytest.mark.parametrize("handoff", [False, True])
    async def test_a_value(self, handoff: bool) -> None:
        shop, other = Shop(), Shop()
        assert (await self.run(shop, other, handoff=handoff))[0] == "completed"
        assert (shop.sold, other.sold) == (["tea"], [])

    @pytest.mark.parametrize("waits", [False, True])
    async def test_a_function_of_the_callers_context(self, waits: bool) -> None:
        caller, seen = {"shop": Shop()}, []

        def of(ctx: RunContext[dict[str, Shop]]) -> Shop:
            seen.append((ctx.run_id, ctx.tool, bool(ctx.key)))
            return ctx.deps["shop"]

        async def later(ctx: RunContext[dict[str, Shop]]) -> Shop:
            return of(ctx)

        assert (await self.run(later if waits else of, caller))[0] == "completed"
        assert (caller["shop"].sold, seen) == (["tea"], [("r", "shop", True)])

    async def test_an_object_that_can_be_called_is_a_value(self) -> None:
        class Callable(Shop):
            def __call__(self, ctx: object) -> Shop:
                raise AssertionError("called")

        shop = Callable()
        assert (await self.run(shop))[0] == "completed"
        assert shop.sold == ["tea"]

    async def test_they_are_found_again_after_a_crash_and_never_journaled(self) -> None:
        first, second = {"shop": Shop()}, {"shop": Shop()}

        def of(ctx: RunContext[dict[str, Shop]]) -> Shop:
            return ctx.deps["shop"]

        async with World.in_memory() as world:
            with pytest.raises(BaseException, match=r"^$"):
                await world.run("Go.", self.pair(of, dying=True), run_id="r", deps=first)
            run = await world.resume("r", self.pair(of, goes_on=True), deps=second)
            assert (run.text, first["shop"].sold, second["shop"].sold) == ("Done.", [], ["tea"])
            for name in (run.id, *run.children):
                lines = (await world.archive.history(name)).lines
                assert not any(b"Shop" in line.canonical() for line in lines)

    async def test_an_exception_of_the_function_is_the_result_of_the_call(self) -> None:
        def broken(ctx: RunContext[None]) -> Shop:
            raise ConnectionError("no database")

        status, said = await self.run(broken)
        assert (status, "no database" in said) == ("completed", False)
        assert '"status":"error"' in said

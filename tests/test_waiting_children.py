"""Child runs that wait: the call stays open, and whatever reaches the caller reaches the child."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace

from artificer import (
    Agent,
    AnswerCall,
    Cancel,
    FollowUp,
    Interrupt,
    Pause,
    Policy,
    Rule,
    ScriptedProvider,
    World,
    tool,
)
from artificer.core.events import CallContinued, ReceiptIgnored
from artificer.core.record import EventLine
from artificer.core.transitions import reduce
from artificer.events import CallSuspended
from artificer.providers.scripted import call, reply, say
from artificer.runtime.waiting import questions_below
from artificer.values.model import ModelFailure
from artificer.wiring.assemble import assemble
from artificer.wiring.engines import Attendance

pytestmark = pytest.mark.req("child-waits")

DOWN = ModelFailure(code="unavailable", message="down")
ASKS = Policy(rules=(Rule(decision="ask", tool="pay"),))


class Till:
    """Remembers who was paid, in order."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.paid_twice = asyncio.Event()

    @property
    def pay(self) -> Any:
        """The tool that pays, once for each call."""

        @tool(effect="once", resources=[])
        async def pay(to: str) -> str:
            """Pay."""
            self.paid.append(to)
            if len(self.paid) == 2:
                self.paid_twice.set()
            return f"paid {to}"

        return pay


def payer(till: Till, *script: Any) -> Agent:
    """An agent that may pay if a person agrees."""
    return Agent(ScriptedProvider(list(script)), kind="chat", tools=[till.pay], policy=ASKS)


def boss(*script: Any, **children: Agent) -> Agent:
    """An agent whose tools are these agents."""
    tools = [child.as_tool(name, f"Let {name} do it.") for name, child in children.items()]
    return Agent(ScriptedProvider(list(script)), kind="chat", tools=tools)


def pays(to: str) -> Any:
    return reply(call("pay", to=to))


def asks(*names: str) -> Any:
    return reply(*[call(name, prompt="Go.") for name in names])


async def sound(world: World) -> None:
    """Every run replays, and nothing in the world was changed."""
    for run in await world.archive.runs():
        assert (await world.archive.replay(run)).divergence is None
    assert (await world.archive.verify()).problems == []


def results(run: Any) -> list[str]:
    return [f"{b.status}: {b.content}" for b in run.messages[2].blocks]


async def test_the_call_stays_open_until_the_child_has_its_answer() -> None:
    till = Till()
    agent = boss(asks("buy"), say("Done."), buy=payer(till, pays("Ada"), say("Bought.")))
    async with World.in_memory() as world:
        run = await world.run("Buy it.", agent, run_id="r")
        (child,) = run.children
        assert (run.status, [(q.run, q.tool) for q in run.questions]) == (
            "waiting", [(child, "pay")]
        )  # fmt: skip
        assert (await world.get("r")).questions == run.questions
        assert till.paid == []
        run = await agent.approve("r", world=world)
        assert (run.status, run.text, till.paid) == ("completed", "Done.", ["Ada"])
        assert results(run) == ["ok: Bought."]
        assert run.usage.output_tokens == 20, "what the child used counts once"
        assert run.questions == ()
        await sound(world)


@pytest.mark.parametrize("to_child", [True, False])
async def test_an_answer_reaches_the_child_from_either_run(to_child: bool) -> None:
    till = Till()
    agent = boss(asks("buy"), say("Done."), buy=payer(till, pays("Ada"), say("Not bought.")))
    async with World.in_memory() as world:
        run = await world.run("Buy it.", agent, run_id="r")
        (question,) = run.questions
        no = AnswerCall(call=question.digest, approved=False, reason="Too dear.")
        await world.send(question.run if to_child else "r", no)
        run = await world.resume("r", agent)
        assert (results(run), till.paid) == (["ok: Not bought."], [])
        assert "Too dear." in str((await world.get(question.run)).messages)
        await sound(world)


async def test_a_child_that_was_resumed_by_itself_counts_when_its_caller_is() -> None:
    till = Till()
    child = payer(till, pays("Ada"), say("Bought."))
    agent = boss(asks("buy"), say("Done."), buy=child)
    async with World.in_memory() as world:
        run = await world.run("Buy it.", agent, run_id="r")
        assert (await child.approve(run.children[0], world=world)).status == "completed"
        run = await world.get("r")
        assert (run.status, run.questions) == ("waiting", ())
        run = await world.resume("r", agent)
        assert (run.status, results(run), till.paid) == ("completed", ["ok: Bought."], ["Ada"])
        await sound(world)


async def test_several_children_wait_at_once_and_below_each_other() -> None:
    till = Till()
    deep = boss(asks("buy"), say("Deep."), buy=payer(till, pays("Deep"), say("Bought.")))
    agent = boss(
        asks("one", "two", "deep", "free"),
        say("Done."),
        one=payer(till, pays("One"), say("One.")),
        two=payer(till, pays("Two"), say("Two.")),
        deep=deep,
        free=Agent(ScriptedProvider([say("Free.")]), kind="chat"),
    )
    async with World.in_memory() as world:
        run = await world.run("Go.", agent, run_id="r")
        assert run.status == "waiting"
        assert sorted(q.arguments for q in run.questions) == [
            '{"to":"Deep"}', '{"to":"One"}', '{"to":"Two"}'
        ]  # fmt: skip
        deepest = next(q for q in run.questions if "Deep" in q.arguments)
        run = await agent.approve("r", deepest.digest, world=world)
        assert (run.status, till.paid, len(run.questions)) == ("waiting", ["Deep"], 2)
        run = await agent.approve("r", world=world)
        assert (run.status, sorted(till.paid)) == ("completed", ["Deep", "One", "Two"])
        assert results(run) == ["ok: One.", "ok: Two.", "ok: Deep.", "ok: Free."]
        await sound(world)


async def test_a_stalled_child_stalls_its_caller_and_goes_on_with_it() -> None:
    child = Agent(ScriptedProvider([DOWN, say("Written.")]), kind="chat")
    agent = boss(asks("write"), say("Done."), write=child)
    async with World.in_memory() as world:
        run = await world.run("Write.", agent, run_id="r")
        assert (run.status, run.questions) == ("stalled", ())
        run = await world.resume("r", agent)
        assert (run.status, results(run)) == ("completed", ["ok: Written."])
        await sound(world)


async def test_a_handoff_waits_too() -> None:
    till = Till()
    billing = payer(till, pays("Ada"), say("Refunded."))
    model = ScriptedProvider([reply(call("transfer_to_billing", prompt="Refund."))])
    agent = Agent(model, kind="chat", tools=[billing.as_handoff("billing", "Money.")])
    async with World.in_memory() as world:
        run = await world.run("I paid twice.", agent, run_id="r")
        assert run.status == "waiting"
        run = await agent.approve("r", world=world)
        assert (run.status, run.text, till.paid) == ("completed", "Refunded.", ["Ada"])
        await sound(world)


async def test_an_answer_goes_to_the_child_while_its_caller_is_under_way() -> None:
    """The child goes on at once, and so does one of two levels below."""
    till = Till()
    async with World.in_memory() as world:

        @tool
        async def answer() -> str:
            """Answer all questions."""
            while True:
                if len((await world.get("r")).questions) == 2:
                    break
                await asyncio.sleep(0)
            for question in (await world.get("r")).questions:
                await world.send("r", AnswerCall(call=question.digest, approved=True))
            await till.paid_twice.wait()
            return "answered"

        deep = boss(asks("buy"), say("Deep."), buy=payer(till, pays("Deep"), say("Bought.")))
        plain = payer(till, pays("Ada"), say("Bought."))
        script = [reply(call("buy", prompt="x"), call("deep", prompt="x"), call("answer"))]
        tools = [plain.as_tool("buy", "Buy."), deep.as_tool("deep", "Buy."), answer]
        agent = Agent(ScriptedProvider([*script, say("Done.")]), kind="chat", tools=tools)
        run = await world.run("Go.", agent, run_id="r")
        assert (run.status, sorted(till.paid)) == ("completed", ["Ada", "Deep"])
        assert results(run) == ["ok: Bought.", "ok: Deep.", "ok: answered"]
        lines = (await world.archive.history("r")).lines
        events = [line.event for line in lines if isinstance(line, EventLine)]
        assert sum(isinstance(event, CallContinued) for event in events) == 2
        await sound(world)


@pytest.mark.parametrize("how", ["cancel", "signal", "interrupt"])
async def test_a_cancelled_run_cancels_its_open_children(how: str) -> None:
    till = Till()
    deep = boss(asks("buy"), say("Deep."), buy=payer(till, pays("Deep"), say("Bought.")))
    plain = payer(till, pays("Ada"), say("Bought."))
    agent = boss(asks("buy", "deep"), say("Done."), buy=plain, deep=deep)
    async with World.in_memory() as world:
        run = await world.run("Go.", agent, run_id="r")
        if how == "cancel":
            run = await world.cancel("r", "Enough.")
        else:
            await world.send("r", Cancel() if how == "signal" else Interrupt())
            run = await world.resume("r", agent)
        assert run.reason == ("interrupted" if how == "interrupt" else "cancelled")
        assert run.questions == ()
        below = await world.archive.children("r")
        states = [(await world.get(child.run)).reason for child in below]
        assert states == ["cancelled"] * 3
        assert [block.status for block in run.messages[2].blocks] == ["cancelled"] * 2  # type: ignore[union-attr]
        assert till.paid == []
        await sound(world)


@pytest.mark.req("sub-agents-cancelled")
async def test_an_interrupted_run_that_a_follow_up_continues_cancels_its_open_children() -> None:
    till = Till()
    deep = boss(asks("buy"), say("Deep."), buy=payer(till, pays("Deep"), say("Bought.")))
    plain = payer(till, pays("Ada"), say("Bought."))
    other = payer(till, pays("Eve"), say("Bought."))
    agent = boss(asks("buy", "deep"), asks("other"), buy=plain, deep=deep, other=other)
    async with World.in_memory() as world:
        await world.run("Go.", agent, run_id="r")
        await world.send("r", FollowUp(text="And now?"))
        await world.send("r", Interrupt())
        run = await world.resume("r", agent)
        standings = {child.tool: child.status for child in await world.archive.children("r")}
        assert run.status == "waiting"
        assert standings == {"buy": "cancelled", "deep": "cancelled", "other": "waiting"}
        assert [json.loads(question.arguments)["to"] for question in run.questions] == ["Eve"]
        await sound(world)


async def test_a_paused_caller_with_an_idle_child_goes_on_when_it_is_resumed() -> None:
    till = Till()
    agent = boss(asks("buy"), say("Done."), buy=payer(till, pays("Ada"), say("Bought.")))
    async with World.in_memory() as world:
        run = await world.run("Go.", agent, run_id="r")
        await world.send("r", Pause())
        run = await world.resume("r", agent)
        assert run.status == "paused"
        assert [q.tool for q in run.questions] == ["pay"]
        run = await agent.approve("r", world=world)
        assert (run.status, till.paid) == ("completed", ["Ada"])
        await sound(world)


async def test_a_paused_child_pauses_its_caller() -> None:
    till = Till()
    child = payer(till, pays("Ada"), say("Bought."))
    agent = boss(asks("buy"), say("Done."), buy=child)
    async with World.in_memory() as world:
        run = await world.run("Go.", agent, run_id="r")
        await world.send(run.children[0], Pause())
        run = await world.resume("r", agent)
        assert run.status == "paused"
        run = await agent.approve("r", world=world)
        assert (run.status, till.paid) == ("completed", ["Ada"])
        await sound(world)


async def test_time_stands_while_only_a_child_waits() -> None:
    """A caller with little time is not over because a person was slow."""
    till = Till()
    agent = boss(asks("buy"), say("Done."), buy=payer(till, pays("Ada"), say("Bought.")))
    async with World.in_memory() as world:
        run = await world.run("Go.", agent, run_id="r")
        state = run.state
        at = state.now + 10 * state.run_spec.limits.wall_ms
        after, _ = reduce(state, ReceiptIgnored(at=at, what="letter", reason="late"))
        assert after.time_left == state.time_left


@pytest.mark.parametrize("rules", [2, 3])
async def test_runs_of_older_rules_read_an_error(rules: int) -> None:
    """They do as they did when they began."""
    till = Till()
    agent = boss(asks("buy"), say("Done."), buy=payer(till, pays("Ada"), say("Bought.")))
    async with World.in_memory() as world:
        resources = world._resources
        async with assemble(resources, agent, "Go.", Attendance(), None) as made:
            spec = made.spec.replace(rules=rules)
            state = await replace(made, spec=spec).start(resources, "r")
        assert state.standing == ("completed" if rules == 2 else "waiting")
        if rules == 2:
            assert "of this agent is waiting" in str(state.history)
        await sound(world)


async def test_a_journal_that_names_strangers_as_children_leads_nowhere() -> None:
    till = Till()
    agent = boss(asks("buy"), say("Done."), buy=payer(till, pays("Ada"), say("Bought.")))
    async with World.in_memory() as world:
        await world.run("Go.", agent, run_id="r")
        state = (await world.get("r")).state
        for name in ("r", "other", "r.nothing", ""):
            wait = state.waits[0].replace(run=name)
            named = state.replace(waits=(wait,))
            assert await questions_below(world._resources.storage, "r", named) == ()


async def test_explain_names_the_child_and_what_it_asks() -> None:
    till = Till()
    agent = boss(asks("buy"), say("Done."), buy=payer(till, pays("Ada"), say("Bought.")))
    async with World.in_memory() as world:
        run = await world.run("Go.", agent, run_id="r")
        (child,) = run.children
        found = await world.archive.explain("r")
        assert found.pending[1:] == (
            f"the run {child} (waiting)",
            f'a person\'s answer for {child}: pay {{"to":"Ada"}}',
        )
        assert found.next[0] == "artificer approve r --list"


@pytest.mark.req("stream-call-waits")
async def test_a_stream_shows_that_a_call_waits_for_its_run() -> None:
    till = Till()
    agent = boss(asks("buy"), "Bought.", buy=payer(till, pays("Ada"), "Paid."))
    async with World.in_memory() as world:
        async with world.stream("Buy.", agent) as stream:
            events = [event async for event in stream]
            run = await stream.result()
        (suspended,) = (event for event in events if isinstance(event, CallSuspended))
        (question,) = run.questions
        assert (suspended.tool, suspended.standing) == ("buy", "waiting")
        assert suspended.child == question.run
        await world.send(run.id, AnswerCall(call=question.digest, approved=True))
        assert (await world.resume(run.id, agent)).text == "Bought."
        recorded = [event async for event in world.events(run.id)]
        of_the_call = [event for event in recorded if getattr(event, "call_id", "")]
        assert {getattr(event, "tool", "") for event in of_the_call} == {"buy"}
        kinds = [event.type for event in of_the_call]
        assert kinds[1:3] == ["call_started", "call_suspended"]
        assert kinds[-1] == "call_finished"

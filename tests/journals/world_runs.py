"""Runs of a world that are recorded: children, guarded calls, late results, output functions."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

from artificer import Agent, AnswerCall, Policy, Question, Resolve, Rule, World, tool
from artificer.errors import AmbiguousCallError, AuthorError, CallError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.model import ModelFailure

ODD = "é ä 😀 𐀀 \u2028 \x7f \x00 \ufeff"


@tool(effect="pure")
async def look(n: int) -> str:
    """Look."""
    return f"{n}: {ODD}"


async def sub_agent(world: World) -> str:
    """A caller of two child runs, one of which fails."""
    child = Agent(ScriptedProvider([reply(call("look", n=1)), say(ODD)]), tools=[look], kind="chat")
    broken = Agent(ScriptedProvider([say("no JSON")] * 9), output={"type": "integer"})
    turns = [
        reply(call("write", prompt=ODD), call("count", prompt="How many?")),
        say("Done."),
    ]
    tools = [child.as_tool("write", "Write a text."), broken.as_tool("count", "Count.")]
    await world.run(ODD, Agent(ScriptedProvider(turns), tools=tools, kind="chat"), run_id="run")
    return "run"


async def sub_agent_child(world: World) -> str:
    """The child of such a caller."""
    await sub_agent(world)
    children = [name for name in await world.archive.runs() if name.startswith("run.")]
    runs = [await world.get(name) for name in children]
    return next(run.id for run in runs if run.status == "completed")


async def sub_agent_waiting(world: World) -> str:
    """A caller of runs that wait: one goes on at once, one when it is resumed, one is stalled."""
    paid: list[str] = []

    @tool(effect="once", resources=[])
    async def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return f"paid {to}"

    @tool(effect="pure")
    async def answer() -> str:
        """Answer the first question, and wait until it has been heeded."""
        questions: tuple[Question, ...] = ()
        while True:
            if len(questions) < 2:
                questions = (await world.get("run")).questions
                for question in questions[:1] if len(questions) == 2 else ():
                    yes = AnswerCall(call=question.digest, approved=True, by="alice")
                    await world.send("run", yes)
            if paid:
                return "answered"
            await asyncio.sleep(0)

    def payer(to: str) -> Agent:
        model = ScriptedProvider([reply(call("pay", to=to)), say(f"{to}: {ODD}")])
        policy = Policy(rules=(Rule(decision="ask", tool="pay"),))
        return Agent(model, tools=[pay], policy=policy, kind="chat")

    down = ModelFailure(code="unavailable", message=ODD)
    stalls = Agent(ScriptedProvider([down, say("Up again.")]), kind="chat")
    children = {"one": payer("One"), "two": payer("Two"), "three": stalls}
    calls = [call(name, prompt="Go.") for name in children]
    tools = [child.as_tool(name, "Pay.") for name, child in children.items()]
    turns = [reply(*calls, call("answer")), say("Done.")]
    agent = Agent(ScriptedProvider(turns), tools=[*tools, answer], kind="chat")
    await world.run(ODD, agent, run_id="run")
    await world.resume("run", agent)
    await agent.approve("run", by="alice", world=world)
    return "run"


async def guarded(world: World) -> str:
    """Guarded calls of every ending, by two programs; a person resolves what the first left."""
    hanging = asyncio.Event()

    @tool(effect="once")
    async def charge(order: str) -> str:
        """Charge for an order."""
        if order == "hang":
            hanging.set()
            await asyncio.Event().wait()
        if order == "fail":
            raise ValueError(ODD)
        return f"charged {order}"

    deny = Policy(rules=(Rule(decision="deny", tool="refund", reason="Not today."),))

    @tool(effect="once")
    async def refund(order: str) -> str:
        """Refund an order."""
        return order

    tools = [charge, refund, look]
    first = world.guard(tools, key="run", policy=deny)
    await asyncio.gather(*(first.call("charge", {"order": order}) for order in ("A", ODD)))
    for name, arguments in (
        ("charge", '{"order": 1'),
        ("charge", {"order": "fail"}),
        ("refund", {"order": "A"}),
        ("nothing", {}),
    ):
        with suppress(CallError):
            await first.call(name, arguments)
    under_way = asyncio.ensure_future(first.call("charge", {"order": "hang"}, call_id="mine"))
    await hanging.wait()
    await first.aclose()
    await asyncio.gather(under_way, return_exceptions=True)
    second = world.guard(tools, key="run", policy=deny)
    with suppress(AmbiguousCallError):
        await second.call("charge", {"order": "hang"}, call_id="mine")
    await second.aclose()
    (doubt,) = (await world.get("run")).doubts
    seen = Resolve(call_id=doubt.call_id, happened=True, reason="I saw.", by="alice")
    await world.send("run", seen)
    async with world.guard(tools, key="run", policy=deny) as third:
        await third.call("look", {"n": 2})
    return "run"


async def late_results(world: World) -> str:
    """Three threads that go on after their calls, and end well, badly, or as a stranger's words."""
    gate = threading.Event()

    def wait(name: str, **options: Any) -> Any:
        @tool(name=name, effect="once", timeout=0.1, resources=[name], **options)
        def work() -> str:
            """Go on."""
            gate.wait(60)
            if name == "fails":
                raise ValueError(ODD)
            return ODD

        return work

    @tool(effect="pure", resources=["other"])
    def let_go() -> str:
        """Let them go on."""
        gate.set()
        return "gone"

    @tool(effect="once", resources=["works", "fails", "reads"], timeout=30)
    def after() -> str:
        """Wait for them."""
        return "after"

    turns = [
        reply(call("works"), call("fails"), call("reads")),
        reply(call("let_go"), call("after")),
        reply(call("after")),
        *[say("Done.")] * 2,
    ]
    tools = [wait("works"), wait("fails"), wait("reads", trust="untrusted"), let_go, after]
    await world.run("Go.", Agent(ScriptedProvider(turns), tools=tools, kind="chat"), run_id="run")
    return "run"


async def output_function(world: World) -> str:
    """A function as output: a reply of no JSON, one that it refuses, one at which it breaks."""
    prices: dict[str, int] = {}

    def price(item: str) -> int:
        """Return a price."""
        if item == "":
            raise ValueError(ODD)
        return prices[item]

    provider = ScriptedProvider([say("Tea."), say('{"item": ""}'), say('{"item": "é"}')])
    agent = Agent(provider, output=price)
    with suppress(AuthorError):
        await world.run("Go.", agent, run_id="run")
    with suppress(AuthorError):
        await world.resume("run", agent)
    prices["é"] = 7
    await world.resume("run", agent)
    return "run"


WORLD_RUNS = {
    "sub-agent": sub_agent,
    "sub-agent-child": sub_agent_child,
    "sub-agent-waiting": sub_agent_waiting,
    "guarded": guarded,
    "late-results": late_results,
    "output-function": output_function,
}
"""By the names of their files; each returns the run to be recorded."""

"""Late results of calls that went on after their answer, and what follows from them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from artificer import Agent, World, tool
from artificer.backends.function.decorator import FunctionTool
from artificer.core import events as ev
from artificer.core.intents import CallTool
from artificer.core.late import resolved_by
from artificer.core.record import EventLine, IntentLine, encode
from artificer.core.state import Doubt
from artificer.errors import AmbiguousCallError, TamperedError
from artificer.ports import Head
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.file import decompress
from artificer.runs import Run
from artificer.values.canon import digest_of

pytestmark = pytest.mark.req("late-result-resolves")


class Gate:
    """A charge that goes on until it is let go, and what it then does."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.open = threading.Event()
        self.error: Exception | None = None

    def __call__(self) -> str:
        self.started.set()
        self.open.wait(60)
        if self.error is not None:
            raise self.error
        return "charged"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def slow(gate: Gate, **options: Any) -> FunctionTool[..., Any]:
    @tool(name="charge", effect="once", resources=["db"], **{"timeout": 0.1, **options})
    def charge() -> str:
        """Charge."""
        return gate()

    return charge


def opener(gate: Gate) -> FunctionTool[..., Any]:
    @tool(effect="pure", resources=["other"])
    def look() -> str:
        """Let the charge go."""
        gate.open.set()
        return "looked"

    return look


@tool(effect="once", resources=["db"], timeout=30)
def after() -> str:
    """Wait until nothing else uses the database."""
    return "after"


AGAIN = [reply(call("charge")), reply(call("look"), call("after")), say("One."), say("Two.")]


def notes_of(provider: ScriptedProvider) -> list[str]:
    """Return the texts of people, or ours in their place, in the last request."""
    blocks = [b for m in provider.requests[-1]["messages"] for b in m["blocks"]]
    return [b["text"] for b in blocks if b["type"] == "text"]


def results_of(request: Any) -> list[tuple[str, str]]:
    """Return the results that the last message of a request has, each with its status."""
    blocks = request["messages"][-1]["blocks"]
    return [(b["status"], b["content"]) for b in blocks if b["type"] == "tool_result"]


async def ended(gate: Gate) -> None:
    """Let the charge go, and wait until its thread has ended."""
    (left,) = (one for one in threading.enumerate() if one.name.endswith("tool charge"))
    gate.open.set()
    await asyncio.to_thread(left.join)


async def events_of(world: World, run: Run) -> list[ev.Event]:
    lines = (await world.archive.history(run.id)).lines
    return [line.event for line in lines if isinstance(line, EventLine)]


@pytest.mark.parametrize("trust", ["trusted", "untrusted"])
async def test_a_success_resolves_the_doubt_and_the_model_learns_it(gate: Gate, trust: str) -> None:
    provider = ScriptedProvider(AGAIN)
    agent = Agent(provider, tools=[slow(gate, trust=trust), opener(gate), after], kind="chat")
    async with World.in_memory() as world:
        run = await agent.run("Go.", world=world)
        (resolved,) = [e for e in await events_of(world, run) if isinstance(e, ev.DoubtResolved)]
        assert (resolved.happened, resolved.by, resolved.letter) == (True, "", 0)
        assert run.doubts == () and run.status == "completed"
        (note,) = [text for text in notes_of(provider) if "do not repeat it" in text]
        assert ('"charged"' in note) == (trust == "trusted"), "no stranger speaks as a person"
        assert (await world.archive.replay(run.id, model=ScriptedProvider([]))).identical
        copy = await world.archive.export_run(run.id)
        async with World.in_memory() as other:
            await other.import_run(copy)


async def test_a_failure_leaves_the_doubt(gate: Gate) -> None:
    gate.error = OSError("broken pipe")
    provider = ScriptedProvider(AGAIN[:3])
    agent = Agent(provider, tools=[slow(gate), opener(gate), after], kind="chat")
    async with World.in_memory() as world:
        run = await agent.run("Go.", world=world)
        late = [e for e in await events_of(world, run) if isinstance(e, ev.ReceiptIgnored)]
        assert [e.status for e in late] == ["error"] and "broken pipe" in late[0].content
        assert [doubt.tool for doubt in run.doubts] == ["charge"]


async def test_a_coroutine_that_gives_in_to_its_cancellation_late_has_failed() -> None:
    """Its run goes on: it is not the run that was cancelled."""
    go = asyncio.Event()

    @tool(name="charge", effect="once", resources=["db"], timeout=0.1)
    async def charge() -> str:
        """Charge."""
        try:
            return await asyncio.Event().wait() or "never"
        except asyncio.CancelledError:
            await go.wait()
            raise

    @tool(effect="pure", resources=["other"])
    async def look() -> str:
        """Let the charge go."""
        go.set()
        return "looked"

    agent = Agent(ScriptedProvider(AGAIN[:3]), tools=[charge, look, after], kind="chat")
    async with World.in_memory() as world:
        run = await agent.run("Go.", world=world)
        assert (run.status, [doubt.tool for doubt in run.doubts]) == ("completed", ["charge"])
        (late,) = [e for e in await events_of(world, run) if isinstance(e, ev.ReceiptIgnored)]
        assert (late.status, late.content) == ("error", "The tool was cancelled.")


@pytest.mark.parametrize("ended_before", [False, True])
async def test_a_run_that_is_resumed_by_the_same_program_learns_it(
    gate: Gate, ended_before: bool
) -> None:
    script = [reply(call("charge")), reply(call("look"), call("after")), say("One."), say("Two.")]
    provider = ScriptedProvider(script)
    agent = Agent(provider, tools=[slow(gate, timeout=60), opener(gate), after], kind="chat")
    async with World.in_memory() as world, World.in_memory() as other:
        task = asyncio.create_task(agent.run("Go.", world=world, run_id="r"))
        await asyncio.to_thread(gate.started.wait)
        task.cancel()
        await asyncio.wait((task,))
        await Agent(ScriptedProvider([say("Hi.")])).run("Hi.", world=other, run_id="r")
        if ended_before:
            await ended(gate)
        run = await world.resume("r", agent)
        assert (run.status, run.doubts) == ("completed", ())
        found = [type(e) for e in await events_of(world, run)]
        if ended_before:  # then there never was a doubt, and the model reads the result
            assert ev.DoubtResolved not in found
            assert results_of(provider.requests[1]) == [("ok", "charged")]
        else:
            at = found.index(ev.DoubtResolved)
            assert found.count(ev.DoubtResolved) == 1 and found[at - 1] is ev.ReceiptIgnored
        assert (await world.archive.replay("r", model=ScriptedProvider([]))).identical
        assert ev.DoubtResolved not in map(type, await events_of(other, await other.get("r")))


async def test_a_follow_up_asks_the_model_when_it_knows_what_has_happened(gate: Gate) -> None:
    """It would repeat the call, which it knows nothing of."""
    provider = ScriptedProvider([reply(call("charge")), say("One."), say("Two.")])
    agent = Agent(provider, tools=[slow(gate)], kind="chat")
    async with World.in_memory() as world:
        run = await agent.run("Go.", world=world)
        assert [doubt.tool for doubt in run.doubts] == ["charge"]
        await ended(gate)
        run = await agent.follow_up(run, "Did it happen?", world=world)
        assert (run.text, run.doubts) == ("Two.", ())
        (note,) = [text for text in notes_of(provider) if "do not repeat it" in text]
        assert '"charged"' in note
        assert (await world.archive.replay(run.id, model=ScriptedProvider([]))).identical


async def test_a_finished_run_that_is_resumed_knows_what_has_happened(gate: Gate) -> None:
    """No model is asked. While the work goes on, the doubt remains."""
    provider = ScriptedProvider([reply(call("charge")), say("One."), say("Two.")])
    agent = Agent(provider, tools=[slow(gate)], kind="chat")
    async with World.in_memory() as world:
        run = await world.resume((await agent.run("Go.", world=world)).id, agent)
        assert [doubt.tool for doubt in run.doubts] == ["charge"]
        await ended(gate)
        run = await world.resume(run.id, agent)
        assert (run.status, run.doubts, len(provider.requests)) == ("completed", (), 2)
        events = await events_of(world, run)
        assert [type(e) for e in events[-2:]] == [ev.ReceiptIgnored, ev.DoubtResolved]
        assert (await world.resume(run.id, agent)).events[-1] == run.events[-1]
        assert (await world.archive.replay(run.id, model=ScriptedProvider([]))).identical


async def test_a_run_in_progress_learns_it_before_it_asks_again(gate: Gate) -> None:
    """Its open call is answered at once, and a request follows from that."""
    waiting = asyncio.Event()

    @tool(effect="once", resources=["other"])
    async def wait() -> str:
        """Wait."""
        waiting.set()
        return await asyncio.Event().wait() or "never"

    provider = ScriptedProvider([reply(call("charge")), reply(call("wait")), say("One.")])
    agent = Agent(provider, tools=[slow(gate), wait], kind="chat")
    async with World.in_memory() as world:
        task = asyncio.create_task(agent.run("Go.", world=world, run_id="r"))
        await waiting.wait()
        task.cancel()
        await asyncio.wait((task,))
        await ended(gate)
        run = await world.resume("r", agent)
        assert (run.text, [doubt.tool for doubt in run.doubts]) == ("One.", ["wait"])
        assert [text for text in notes_of(provider) if "do not repeat it" in text]
        assert (await world.archive.replay("r", model=ScriptedProvider([]))).identical


async def test_a_guarded_call_that_is_asked_for_again_returns_the_late_result(gate: Gate) -> None:
    async with (
        World.in_memory() as world,
        world.guard([slow(gate), after], key="order-42") as guarded,
    ):
        with pytest.raises(AmbiguousCallError):
            await guarded.call("charge")
        gate.open.set()
        await guarded.call("after")  # begins when the charge has ended
        await guarded.call("after")
        assert await guarded.call("charge") == "charged"
        async with world.guard([slow(gate), after], key="other") as second:
            assert await second.call("after") == "after"


async def test_only_the_result_of_that_very_call_is_evidence(gate: Gate) -> None:
    provider = ScriptedProvider(AGAIN)
    agent = Agent(provider, tools=[slow(gate), opener(gate), after], kind="chat")
    async with World.in_memory() as world, World.in_memory() as other:
        run = await agent.run("Go.", world=world)
        lines = (await world.archive.history(run.id)).lines
        calls = [x.intent for x in lines if isinstance(x, IntentLine)]
        charge, *others = [intent for intent in calls if isinstance(intent, CallTool)]
        (late,) = [e for e in await events_of(world, run) if isinstance(e, ev.ReceiptIgnored)]
        doubt = {"call_id": charge.call_id, "tool": charge.tool, "arguments": charge.arguments}
        doubtful = run.state.replace(doubts=(Doubt(**doubt),))
        assert resolved_by(doubtful, charge, late) is not None
        assert resolved_by(run.state, charge, late) is None
        assert all(resolved_by(doubtful, c, late.replace(intent=c.n)) is None for c in others)
        for wrong in ({"intent": charge.n + 1}, {"status": "error"}, {"what": "letter"}):
            assert resolved_by(doubtful, charge, late.replace(**wrong)) is None
        for forgery in ({"status": "error"}, {"intent": others[0].n}):
            with pytest.raises(TamperedError, match="does not replay"):
                await other.import_run(await _forged(world, run, forgery))


async def _forged(world: World, run: Run, changes: dict[str, Any]) -> bytes:
    """An exported run whose late result was changed, in a chain that fits."""
    data = decompress(await world.archive.export_run(run.id)).decode().splitlines()
    head, bodies = Head(), []
    for line in (await world.archive.history(run.id)).lines:
        change: dict[str, Any] = {"prev": head.hash}
        if isinstance(line, EventLine) and isinstance(line.event, ev.ReceiptIgnored):
            change["event"] = line.event.replace(**changes)
        body, _ = encode(line.replace(**change))
        head = Head(seq=line.seq, hash=digest_of(body))
        bodies.append(json.dumps({"record": body.decode()}, separators=(",", ":")))
    header = json.dumps({**json.loads(data[0]), "head": head.to_json()}, separators=(",", ":"))
    forged = [header, *bodies, *(text for text in data if text.startswith('{"blob'))]
    return ("\n".join(forged) + "\n").encode()

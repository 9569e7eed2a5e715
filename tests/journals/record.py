"""Record the journals of this folder anew: ``python tests/journals/record.py [NAME ...]``.

Recorded journals stay for ever, so that every release replays what older ones wrote. Record anew
only what no release has written yet; what a release has shipped is added to, never changed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from artificer import World
from artificer.builds.facts import BuildOptions, BuildRequested
from artificer.builds.jobs import AskDecision
from artificer.contracts.definition import ModelRequest
from artificer.contracts.model_settings import RequestSettings
from artificer.contracts.response_format import format_of
from artificer.core.events import BuildAdvanced, RunForked
from artificer.core.facts import Judges
from artificer.core.policy import Policy, Rule
from artificer.core.price import Price
from artificer.core.signals import (
    AnswerCall,
    Decide,
    FollowUp,
    Interrupt,
    Pause,
    Resolve,
    Signal,
    Steer,
)
from artificer.core.spec import Fallback, Limits
from artificer.core.state import RunState
from artificer.core.taint import Taint
from artificer.ports import (
    NO_SPENDING,
    Answer,
    Call,
    Head,
    Journal,
    Memo,
    PreparedRequest,
    Probed,
    Provider,
    Question,
    Receipt,
    Record,
    Spending,
)
from artificer.ports.attachment import Audio, File, Image, block_of
from artificer.providers.anthropic import Anthropic
from artificer.providers.chain import ProviderChain
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.export import export
from artificer.recordings.file import decompress
from artificer.runtime.fork import ForkChanges, origin_of, plan_fork
from artificer.runtime.load import load
from artificer.storage.memory import MemoryJournal
from artificer.testing.rig import Rig
from artificer.values.base import JsonObject, Problem
from artificer.values.blocks import (
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from artificer.values.model import ModelFailure, ModelReply, ToolChoice, Usage

sys.path.insert(0, str(Path(__file__).parents[1]))

from data_runs import data
from ticked_runs import ticked
from world_runs import WORLD_RUNS

from build_world import BASE, BuildWorld, plan_of
from pictures import PDF, WAV, png

HERE = Path(__file__).parent
ODD = "é ä 😀 𐀀 \u2028 \x7f \x00 \ufeff"
INTEGER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


class Speaks(ScriptedProvider):
    """A script whose requests are mapped as another provider maps them."""

    def __init__(self, original: Provider, answers: list[ModelReply | ModelFailure]) -> None:
        super().__init__(answers, name=original.name)
        self._original = original

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        return self._original.prepare(request, messages, memo)


class Crash(BaseException):
    """The process is gone."""


class Dying(MemoryJournal):
    """A journal whose process dies before one of its appends."""

    dies_at = 0

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        self.dies_at -= 1
        if self.dies_at == 0:
            raise Crash
        return await super().append(run, epoch, head, records, blobs, spending)

    @classmethod
    def over(cls, journal: Journal) -> Dying:
        """The same journal, in a process that dies."""
        made = cls()
        made.__dict__.update(vars(journal))
        return made


class Person:
    """Allows what is even."""

    async def ask(self, question: Question) -> Answer:
        return Answer(question.arguments.endswith(("0}", "2}")), by="alice", reason="I say so.")


def rig() -> Rig:
    """Tools of every class."""

    async def answer(call: Call) -> str:
        return f"{call.definition.name}: {call.arguments}"

    async def broken(call: Call) -> str:
        raise ValueError("broken")

    async def large(call: Call) -> str:
        return ODD * 300

    made = Rig(approver=Person())
    made.tools.add("echo", answer, schema=INTEGER)
    made.tools.add("asked", answer, schema=INTEGER, effect="keyed", risk="high")
    made.tools.add("denied", answer, effect="once")
    made.tools.add("broken", broken, effect="idempotent")
    made.tools.add("large", large)
    made.tools.add("once", answer, effect="once")
    return made


POLICY = Policy(
    rules=(
        Rule(decision="ask", tool="asked", risk=("high",), reason="It is asked about."),
        Rule(decision="deny", tool="denied", reason="Not here."),
    )
)


async def chat_tools(run: Rig) -> None:
    """Calls that end in every way that a call can end in without a crash."""
    bad = ToolUseBlock(id="a", name="echo", arguments='{"x": 1')
    await run.run(
        [
            reply(TextBlock(text="Let me see."), call("echo", x=1), call("echo", x=1), bad),
            reply(call("nothing"), call("broken"), call("denied"), call("asked", x=1)),
            reply(call("asked", x=2), call("echo", x="one", y=2)),
            ModelReply(blocks=(call("echo", x=3),), stop="max_tokens"),
            ModelReply(blocks=(), stop="end_turn"),
            say("That was all."),
        ],
        policy=POLICY,
        choices=(ToolChoice(mode="required"), ToolChoice()),
        temperature="0.5",
    )


async def deliver_repair(run: Rig) -> None:
    """A report with drift, a list in Markdown, a missing table, and a goodbye that is rejected."""
    rows = [["x", 1.5], [None, True]]
    table = {"kind": "table", "id": "costs", "columns": ["a", "b"], "rows": rows}
    nameless = call("create_table", table={**table, "id": ""})
    text = "# Costs\n\nWhat it costs, and why it is worth it.\n\n{{artifact:table:Costs}}\n"
    await run.run(
        [
            say(text + "{{artifact:chart:share}}\n\n- one\n- two\n"),
            reply(call("create_pie_chart", id="share", segments=[{"label": "a", "value": 0.1}])),
            say(text + "{{artifact:chart:share}}\n"),
            reply(nameless, call("create_table", table=table)),
            say("Sorry, done."),
        ],
        kind="deliver",
    )


async def unicode_large(run: Rig) -> None:
    """Text of every script, strings of many KiB, raw responses that are no text."""
    raw = bytes(range(256)) * 20
    long = say(ODD * 300).replace(raw=raw, model="é", response_id="😀")
    thought = ReasoningBlock(provider="scripted", data='{"signature":"' + "x" * 5_000 + '"}')
    await run.run(
        [reply(thought, call("large", what=ODD)), reply(call("large", what="x" * 5_000)), long],
        prompt=ODD * 300,
        system=ODD,
        limits=Limits(result_chars=1_000),
    )


async def crashed_resumed(run: Rig) -> None:
    """Killed with calls under way: one is ambiguous, the others run again."""
    run.journal = journal = Dying()
    journal.dies_at = 3
    try:
        await run.run([reply(call("once"), call("echo", x=1), call("asked", x=2))], policy=POLICY)
    except Crash:
        await run.resume([say("I looked: it had happened.")])


async def stalled_resumed(run: Rig) -> None:
    """Stalled twice, then answered."""
    failure = ModelFailure(code="rate_limited", message="Too many.", attempts=3, raw=b"429")
    await run.run([reply(call("echo", x=1)), failure])
    await run.resume([failure])
    await run.resume([say("There.")])


async def cancelled(run: Rig) -> None:
    """Stopped while a tool was at work."""
    engine = run.engine(ScriptedProvider([reply(TextBlock(text="So far."), call("stop"))]))

    async def stop(call: Call) -> str:
        engine.stop("run", "enough")
        await asyncio.sleep(3600)
        return "never"

    run.tools.add("stop", stop, effect="once")
    engine = run.engine(ScriptedProvider([reply(TextBlock(text="So far."), call("stop"))]))
    await engine.start("run", run.spec())


async def forked(run: Rig) -> None:
    """A fork of another run, with an edited result and a further message."""
    await run.run(
        [reply(call("echo", x=1), call("broken")), say("Done.")], run="origin", system="Be brief."
    )
    origin = await load(run.journal, run.blobs, "origin")
    changes = ForkChanges(edits={8: "echo: 2"}, steer="And now?")
    plan = plan_fork(origin.lines, changes, origin.state.run_spec)
    came_from = await origin_of(
        run.journal, "origin", plan, origin.state.run_spec, origin.state.run_spec
    )
    begun = RunForked(at=run.clock.now(), origin=came_from, steer=changes.steer)
    answers = ScriptedProvider([reply(call("once")), say("This.")])
    await run.engine(answers).fork("run", plan.facts, begun)


async def letters(run: Rig) -> None:
    """Everything that people can say to a run."""

    async def post(*said: Signal) -> None:
        for letter in said:
            await run.signals.post("run", letter.canonical())

    async def sure(call: Call) -> Probed:
        return Probed(found="absent", reason="Not in the list.")

    async def work(call: Call) -> str:
        return "done"

    run.tools.add("probed", work, effect="once", prober=sure)
    run.approver = None
    gone = ModelFailure(code="unavailable", message="")
    await run.run([reply(call("asked", x=1), call("asked", x=2), call("once"))], policy=POLICY)
    state = (await load(run.journal, run.blobs, "run")).state
    asked = [c.verdict.digest for c in state.calls if c.verdict and c.status is None]
    answers = [
        AnswerCall(by="alice", call=digest, approved=bool(n), reason="Because.")
        for n, digest in enumerate(asked)
        if digest
    ]
    await post(*answers, answers[0], Steer(by="bob", text="Be brief."), Pause(by="bob"))
    await run.resume([reply(call("echo", x=1)), gone])
    await post(Pause(), Resolve(call_id="nothing", happened=True))
    await run.resume([gone])
    await post(FollowUp(by="bob", text="And now?"))
    run.journal = journal = Dying.over(run.journal)
    journal.dies_at = 4
    try:
        await run.resume([reply(call("once", n=2), call("probed"))])
    except Crash:
        await run.resume([gone])
    state = (await load(run.journal, run.blobs, "run")).state
    await post(*(Resolve(call_id=d.call_id, happened=True, reason="I saw.") for d in state.doubts))
    await run.resume([say("First."), reply(call("asked", x=4))])
    await post(Interrupt(by="bob", reason="Enough."))
    await run.resume([])


async def entombed(run: Rig) -> None:
    """Marked to be removed, by a process that died before it did."""
    await run.run([reply(call("echo", x=1)), say("Done.")])
    await run.engine(ScriptedProvider([])).record_pruning("run", "alice", "It is old.")


async def settings(run: Rig) -> None:
    """Settings of each turn, and of a summary."""
    await run.run(
        ScriptedProvider([reply(call("echo", x=1)), reply(call("echo", x=2)), say("Done.")]),
        settings=(
            RequestSettings(temperature="0.25", top_p="0.5", seed=7, stop=("END", ODD)),
            RequestSettings(
                max_tokens=300,
                reasoning="high",
                service_tier="flex",
                headers='{"X-Key":"{_secret:key}"}',
                body='{"min_p":0.1}',
            ),
            RequestSettings(reasoning=2_048),
        ),
    )


async def build(run: Rig) -> None:
    """A build with two specs, one after the other, whose plan is approved in between."""
    world = BuildWorld(plan_of({"store": (), "api": ("store",)}))

    class Serving:
        async def serve(self, run_id: str, state: RunState, wish: Any) -> BuildAdvanced | None:
            assert state.build is not None
            if isinstance(wish, AskDecision):
                return None
            world.state = state.build
            usage = Usage(input_tokens=5, output_tokens=1)
            return BuildAdvanced(at=run.clock.now(), fact=world.answer(wish), usage=usage)

        async def relay(self, run_id: str, state: RunState, letter: bytes) -> None:
            pass

        async def signalled(self, state: RunState) -> set[str]:
            return set()

        async def tidy(self, run_id: str, state: RunState) -> None:
            pass

    asked = BuildRequested(build="run", request="Make it.", base=BASE, options=BuildOptions())
    engine = run.engine(ScriptedProvider([]), builder=Serving())
    state = await engine.start("run", run.spec(kind="build", prompt="Make it.", build=asked))
    assert state.build is not None
    (wish,) = [x for x in state.build.open if isinstance(x, AskDecision)]
    letter = Decide(plan=wish.digest, decision="approve", by="alice")
    await run.signals.post("run", letter.canonical())
    await run.engine(ScriptedProvider([]), builder=Serving()).resume("run")


async def context(run: Rig) -> None:
    """Too long three times: by its limit, where a summary fails, again, and for its provider."""
    small = Limits(turns=20, context_tokens=24_000)
    gone = ModelFailure(code="overloaded", message="Too much.", attempts=3)
    too_long = ModelFailure(code="context_overflow", message="prompt is too long")
    summaries = iter([gone, say("So far: ünï."), say("Nothing new.")])
    thought = ReasoningBlock(provider="scripted", data='{"signature":"x"}')
    turns = [reply(thought, call("large", n=n), call("echo", x=n)) for n in range(9)]
    answers = iter([*turns[:8], too_long, turns[8], say("Done.")])

    def answer(body: JsonObject) -> ModelReply | ModelFailure:
        told = next(summaries if body["system"] == "Summarise." else answers)
        return told.replace(usage=Usage()) if told in turns else told

    await run.run(ScriptedProvider(answer), limits=small, compaction="Summarise.", prompt=ODD)


async def response_format(run: Rig) -> None:
    """No JSON, JSON that does not fit, and JSON that does, with a null for what is left out."""
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "born": {"type": "integer"},
            "died": {"type": "integer"},
        },
        "required": ["name", "born"],
        "additionalProperties": False,
    }
    await run.run(
        [
            reply(call("echo", x=1)),
            say('Here it is:\n```json\n{"name": "é", "born": 1815}\n```'),
            say('{"name": "", "died": "later", "job": true}'),
            say('{"name": "é 😀", "born": 1815, "died": null}'),
        ],
        response_format=format_of(schema),
    )


class Even:
    """Accepts texts of an even length."""

    async def problems(self, text: str) -> tuple[Problem, ...]:
        """Return the violation, if there is one."""
        odd = Problem(pointer="", message=f"{len(text)} characters, an odd number")
        return (odd,) if len(text) % 2 else ()

    async def value(self, text: str) -> str:
        """Return the text."""
        return text


async def output_check(run: Rig) -> None:
    """A text that the agent's check rejects, and one that it accepts; then a follow-up."""
    run.judges = Judges(check=Even())
    await run.run([say("Odd"), say("Even")], output_check="record.even")
    await run.signals.post("run", FollowUp(text="More.").canonical())
    await run.resume([say("Odd é"), say("Even 😀")])


async def history(run: Rig) -> None:
    """A conversation that an earlier one precedes, with a result of a tool that nobody trusts."""
    use = ToolUseBlock(id="call_1_0", name="gone", arguments="{}")
    result = ToolResultBlock(tool_use_id="call_1_0", status="ok", content="Obey. é 😀")
    earlier = (
        user("Look."),
        Message(role="assistant", blocks=(use,)),
        Message(role="user", blocks=(result,)),
        Message(role="assistant", blocks=(TextBlock(text="Hm."),)),
    )
    await run.run(
        [reply(call("echo", x=1)), say("Done.")],
        prompt="And now?",
        history=earlier,
        history_from="earlier",
        taint=Taint(tool="gone", call_id="call_1_0"),
    )


def as_spoken_to(original: Provider) -> Callable[[Rig], Awaitable[None]]:
    """A run whose requests are those of a real provider."""

    async def record(run: Rig) -> None:
        thought = ReasoningBlock(provider=original.name, data='{"type":"thinking"}', summary="Hm.")
        answers = [
            reply(TextBlock(text="Hm."), call("echo", x=1), call("large", what="é")),
            ModelReply(blocks=(ToolUseBlock(id="b", name="echo", arguments="{"),), stop="tool_use"),
            say("Done.").replace(usage=Usage(input_tokens=9, cached_tokens=4)),
        ]
        if original.name == "anthropic":
            answers[0] = reply(thought, *answers[0].blocks)
        await run.run(
            Speaks(original, list(answers)),
            provider=original.name,
            system="Be brief.",
            kind="deliver",
            limits=Limits(result_chars=2_000),
        )

    return record


def shown_to(original: Provider) -> Callable[[Rig], Awaitable[None]]:
    """A run with attachments of its prompt and of results, within limits and beyond them."""

    async def record(run: Rig) -> None:
        image, table = Image.from_bytes(png(), name="é.png"), File.from_bytes(b"a,b\n1,2\n")
        shown = (image, File.from_bytes(PDF, name="paper.pdf"), Audio.from_bytes(WAV))

        async def show(call: Call) -> Receipt:
            return Receipt(status="ok", content="Here they are.", attachments=shown)

        async def fail(call: Call) -> Receipt:
            return Receipt(status="error", content="It failed here.", attachments=(image,))

        run.tools.add("show", show)
        run.tools.add("fail", fail)
        for attached in (image, table):
            run.blobs.put(attached.data)
        await run.run(
            Speaks(
                original, [reply(call("show"), call("fail")), reply(call("show")), say("Done.")]
            ),
            provider=original.name,
            attachments=(block_of(image), block_of(table)),
            limits=Limits(attachments=7),
        )

    return record


async def fallback(run: Rig) -> None:
    """The model of one provider fails after it has reasoned; that of another one goes on."""
    first, second = Anthropic(), OpenAIChat()
    thought = ReasoningBlock(provider=first.name, data='{"type":"thinking"}', summary="Hm.")
    await run.run(
        ProviderChain(
            [
                Speaks(
                    first,
                    [
                        reply(thought, TextBlock(text="Hm."), call("echo", x=1)),
                        ModelFailure(code="overloaded", message="Overloaded é.", attempts=3),
                    ],
                ),
                Speaks(second, [ModelFailure(code="stream_truncated", message="It ended.")]),
                Speaks(second, [reply(call("echo", x=2)), say("Done.")]),
            ]
        ),
        provider=first.name,
        price=Price(input=3_000_000, output=15_000_000),
        fallbacks=(
            Fallback(
                provider=second.name,
                model="n",
                price=Price(input=1_000_000, output=2_000_000),
                max_tokens=1_000,
                settings=(RequestSettings(seed=7),),
            ),
            Fallback(provider=second.name, model="o", temperature="0.5"),
        ),
    )
    await run.signals.post("run", FollowUp(text="And now?").canonical())
    await run.resume(ProviderChain([Speaks(second, [say("Still here.")])]))


RECORDINGS: dict[str, Callable[[Rig], Awaitable[None]]] = {
    "chat-tools": chat_tools,
    "deliver-repair": deliver_repair,
    "unicode-large": unicode_large,
    "crashed-resumed": crashed_resumed,
    "stalled-resumed": stalled_resumed,
    "cancelled": cancelled,
    "forked": forked,
    "letters": letters,
    "entombed": entombed,
    "build": build,
    "context": context,
    "data": data,
    "response-format": response_format,
    "output-check": output_check,
    "settings": settings,
    "history": history,
    "fallback": fallback,
    "ticked": ticked,
    "anthropic": as_spoken_to(Anthropic()),
    "openai": as_spoken_to(OpenAIResponses()),
    "openai-chat": as_spoken_to(OpenAIChat()),
    "attachments-anthropic": shown_to(Anthropic()),
    "attachments-openai": shown_to(OpenAIResponses()),
    "attachments-openai-chat": shown_to(OpenAIChat()),
}


async def record(name: str) -> bytes:
    """Record one of the journals."""
    if name in WORLD_RUNS:
        async with World.in_memory() as world:
            return decompress(await world.archive.export_run(await WORLD_RUNS[name](world)))
    run = rig()
    await RECORDINGS[name](run)
    return await export(run.journal, run.blobs, "run")


def main() -> None:
    """Write the files."""
    for name in sys.argv[1:] or (*RECORDINGS, *WORLD_RUNS):
        path = HERE / f"{name}.jsonl"
        path.write_bytes(asyncio.run(record(name)))
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()

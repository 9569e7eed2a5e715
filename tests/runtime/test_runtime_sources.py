"""Results that artifacts can be bound to: their data, labels and shape, as runs record them."""

from __future__ import annotations

import asyncio
import json

import pytest

from artificer.cli.inspect.timeline import DIGEST, entries
from artificer.contracts.evidence import compact
from artificer.core import events as ev
from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine, Line
from artificer.core.spec import Limits
from artificer.core.state import RunState
from artificer.ports import Answer, Call, Question, Receipt
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.export import export
from artificer.recordings.recording import check, read_recording
from artificer.runtime.fork import ForkChanges, origin_of, plan_fork
from artificer.runtime.load import load
from artificer.runtime.proving.verify import verify
from artificer.runtime.reach import reachable
from artificer.runtime.receipt_data import MAX_DATA_BYTES
from artificer.runtime.watching.observe import Observer
from artificer.storage.memory.storage import MemoryStorage
from artificer.testing.rig import Rig
from artificer.values.base import JsonObject
from artificer.values.model import ModelFailure
from artificer.values.text import clip, head_and_tail

BINDS: JsonObject = {
    "type": "object",
    "properties": {"data": {"type": "object", "properties": {"call": {"type": "string"}}}},
}

DISKS = '{"items": [{"name": "a", "bytes": 1.10}, {"name": "b", "bytes": 12345678901234567890}]}'


async def returned(rig: Rig) -> list[ev.ToolReturned]:
    return [e for e in await rig.events() if isinstance(e, ev.ToolReturned)]


def binding_rig(content: str | Receipt = DISKS) -> Rig:
    """A rig with a tool that can bind, and one whose result is as given."""
    rig = Rig()

    async def never(call: Call) -> str:
        return "{}"

    async def disks(call: Call) -> Receipt | str:
        return content

    rig.tools.add("bind", never, schema=BINDS, backend="artifact")
    rig.tools.add("disks", disks)
    return rig


async def run_once(rig: Rig, **options: object) -> RunState:
    return await rig.run([reply(call("disks")), say("Done.")], **options)


@pytest.mark.req("sources-data")
class TestData:
    async def test_are_a_blob_with_every_number_as_it_was_written(self) -> None:
        rig = binding_rig()
        state = await run_once(rig)
        (event,) = await returned(rig)
        assert event.data is not None
        data = rig.blobs.get(event.data)
        assert b'"bytes":1.10' in data and b"12345678901234567890" in data
        assert [(s.label, s.tool, s.digest) for s in state.sources] == [
            ("disks#1", "disks", event.data)
        ]

    @pytest.mark.parametrize(
        "text", ["plain", "12", "[1, NaN]", '{"a": 1, "a": 2}', "[" * 90 + "]" * 90, '["\\ud800"]']
    )
    async def test_are_not_of_other_texts(self, text: str) -> None:
        rig = binding_rig(text)
        state = await run_once(rig)
        (event,) = await returned(rig)
        assert (event.data, event.content) == (None, text)
        assert [(s.label, s.digest) for s in state.sources] == [("disks#1", None)]

    async def test_are_only_of_results_that_are_ok(self) -> None:
        rig = binding_rig(Receipt(status="error", content="{}", data="{}"))
        state = await run_once(rig)
        assert (await returned(rig))[0].data is None
        assert [(s.status, s.digest) for s in state.sources] == [("error", None)]

    async def test_have_a_limit_that_the_model_learns_of(self) -> None:
        rig = binding_rig(
            Receipt(status="ok", content="Much.", data=json.dumps(["x" * MAX_DATA_BYTES]))
        )
        await run_once(rig)
        (event,) = await returned(rig)
        assert event.data is None
        assert event.content == (
            "Much.\n[Data: disks#1 cannot be bound: its result has more than 8,388,608 bytes]"
        )

    async def test_are_kept_only_where_something_can_be_bound(self) -> None:
        for rig, rules in ((binding_rig(), 2), (Rig(), 3)):
            if rules == 3:
                rig.tools.add("disks", _disks)
            state = await run_once(rig, rules=rules)
            (event,) = await returned(rig)
            assert (event.data, event.content, state.sources) == (None, DISKS, ())


async def _disks(call: Call) -> str:
    return DISKS


@pytest.mark.req("sources-labels")
class TestLabels:
    async def test_count_the_calls_of_each_tool_in_the_order_of_the_calls(self) -> None:
        rig = binding_rig()

        async def fail(call: Call) -> Receipt:
            return Receipt(status="error", content="No.")

        rig.tools.add("fail", fail)
        both = reply(call("disks", n=1), call("fail"), call("gone"), call("disks", n=2))
        state = await rig.run([both, reply(call("disks", n=3), call("fail", n=2)), say("Done.")])
        assert [s.label for s in state.sources] == [
            "disks#1",
            "fail#1",
            "disks#2",
            "disks#3",
            "fail#2",
        ]
        assert (await rig.replay()).identical

    async def test_follow_the_calls_and_not_their_returns(self) -> None:
        rig, watch = binding_rig(), Watch()
        rig.observer = watch

        async def wait(call: Call) -> str:
            if call.arguments["n"] == 1:
                await watch.returned.wait()
            return json.dumps(call.arguments)

        rig.tools.add("wait", wait)
        state = await rig.run([reply(call("wait", n=1), call("wait", n=2)), say("Done.")])
        early, late = await returned(rig)
        assert (early.content[:8], late.content[:8]) == ('{"n": 2}', '{"n": 1}')
        found = {s.label: rig.blobs.get(s.digest or "") for s in state.sources}
        assert found == {"wait#1": b'{"n":1}', "wait#2": b'{"n":2}'}

    async def test_stay_when_a_run_is_resumed(self) -> None:
        rig = binding_rig()
        gone = ModelFailure(code="overloaded", message="Too much.")
        await rig.run([reply(call("disks")), gone])
        state = await rig.resume([reply(call("disks", n=2)), say("Done.")])
        assert [s.label for s in state.sources] == ["disks#1", "disks#2"]
        assert (await rig.replay()).digest == state.digest

    async def test_are_of_calls_that_a_person_was_asked_about_too(self) -> None:
        rig = binding_rig()
        rig.approver = Scripted()
        policy = Policy(rules=(Rule(tool="disks", decision="ask", reason="Look first."),))
        turns = [reply(call("disks", n=1), call("disks", n=2)), say("Done.")]
        state = await rig.run(turns, policy=policy)
        assert [(s.label, s.status) for s in state.sources] == [
            ("disks#1", "denied"),
            ("disks#2", "ok"),
        ]

    async def test_stay_in_a_fork(self) -> None:
        rig = binding_rig()
        before = await run_once(rig)
        loaded = await load(rig.journal, rig.blobs, "run")
        plan = plan_fork(loaded.lines, ForkChanges(steer="Go on."), before.run_spec)
        origin = await origin_of(rig.journal, "run", plan, before.run_spec, before.run_spec)
        engine = rig.engine(ScriptedProvider([reply(call("disks", n=2)), say("Done.")]))
        forked = ev.RunForked(at=rig.clock.now(), origin=origin, steer="Go on.")
        after = await engine.fork("fork", plan.facts, forked)
        assert [s.label for s in after.sources] == ["disks#1", "disks#2"]
        assert after.sources[0] == before.sources[0]

    async def test_an_edited_result_has_no_data(self) -> None:
        rig = binding_rig()
        before = await run_once(rig)
        loaded = await load(rig.journal, rig.blobs, "run")
        (seq,) = [
            line.seq
            for line in loaded.lines
            if isinstance(line, EventLine) and isinstance(line.event, ev.ToolReturned)
        ]
        plan = plan_fork(loaded.lines, ForkChanges(edits={seq: '{"items": []}'}), before.run_spec)
        (edited,) = [fact for fact in plan.facts if isinstance(fact, ev.ToolReturned)]
        assert edited.data is None

    async def test_do_not_hide_that_a_model_repeats_itself(self) -> None:
        rig = binding_rig()
        turns = [reply(call("disks")) for _ in range(9)]
        state = await rig.run([*turns, say("Done.")], limits=Limits(repeats=3))
        assert state.reason == "stuck"


@pytest.mark.req("sources-shown")
class TestWhatTheModelReads:
    async def test_each_result_ends_with_its_label_and_shape(self) -> None:
        rig = binding_rig()
        await run_once(rig)
        (event,) = await returned(rig)
        assert event.content == DISKS + (
            '\n[Data: disks#1 · rows at "/items": 2 · columns: name (text), bytes (number)]'
        )

    async def test_a_long_result_shows_its_first_rows(self) -> None:
        rows = [{"n": n, "what": "x" * 20} for n in range(500)]
        rig = binding_rig(json.dumps({"rows": rows}))
        await run_once(rig, limits=Limits(result_chars=200))
        (event,) = await returned(rig)
        assert event.whole is not None and event.data is not None
        assert event.content.splitlines() == [
            f"The result is long: {len(rig.blobs.get(event.data)):,} bytes of data."
            " Its first rows:",
            *(f'{{"n":{n},"what":"{"x" * 20}"}}' for n in range(5)),
            f"(the whole result is {event.whole})",
            '[Data: disks#1 · rows at "/rows": 500 · columns: n (number), what (text)]',
        ]

    async def test_a_result_that_its_executor_shortened_shows_them_too(self) -> None:
        rows = [{"n": n, "what": "x" * 20} for n in range(5_000)]
        said = compact({"status": "success", "stdout": head_and_tail(json.dumps(rows), 9_000)})
        rig = binding_rig(
            Receipt(status="ok", content=said, evidence="{}", data=json.dumps({"rows": rows}))
        )
        await run_once(rig)
        (event,) = await returned(rig)
        assert event.whole is not None and rig.blobs.get(event.whole).decode() == said
        lines = event.content.splitlines()
        assert (lines[1], len(lines)) == (f'{{"n":0,"what":"{"x" * 20}"}}', 53)
        assert lines[-2:] == [
            f"(the whole result is {event.data})",
            '[Data: disks#1 · rows at "/rows": 5,000 · columns: n (number), what (text)]',
        ]
        recording = await read_recording(await export(rig.journal, rig.blobs, "run"))
        assert await check(recording, ScriptedProvider([])) == []

    async def test_words_next_to_longer_data_are_shown(self) -> None:
        rig = binding_rig(Receipt(status="ok", content="Five.", data=DISKS))
        await run_once(rig)
        (event,) = await returned(rig)
        assert event.content.startswith("Five.\n[Data: disks#1 · ") and event.whole is None


@pytest.mark.req("sources-kept")
class TestKeeping:
    async def test_the_blob_goes_with_the_run_and_is_verified(self) -> None:
        rig = binding_rig()
        await run_once(rig)
        (event,) = await returned(rig)
        recording = await read_recording(await export(rig.journal, rig.blobs, "run"))
        assert await check(recording, ScriptedProvider([])) == []
        assert event.data is not None and recording.blobs.has(event.data)
        rig.blobs._blobs.pop(event.data)  # type: ignore[attr-defined]
        (problem,) = (await verify(rig.journal, rig.blobs)).problems
        assert event.data in problem

    @pytest.mark.parametrize("rows", [2, 2_000])
    async def test_the_blob_is_appended_with_its_record_and_is_not_collected(
        self, rows: int
    ) -> None:
        storage = MemoryStorage()
        rig = binding_rig(json.dumps([{"n": n, "what": "x" * 20} for n in range(rows)]))
        rig.journal, rig.blobs = storage.journal, storage.blobs
        await run_once(rig)
        (event,) = await returned(rig)
        assert event.data is not None
        assert storage.blobs.joins(storage.blobs.get(event.data)) is (rows == 2)
        assert event.data in await reachable(rig.journal, rig.blobs, storage.versions)

    async def test_show_names_the_label_and_the_digest(self) -> None:
        rig = binding_rig()
        await run_once(rig)
        (event,) = await returned(rig)
        assert event.data is not None
        lines = (await load(rig.journal, rig.blobs, "run")).lines
        (entry,) = [entry for entry in entries(lines) if entry.name == "ToolReturned"]
        assert entry.summary.endswith(f"data disks#1 {clip(event.data, DIGEST)}")


class Watch(Observer):
    """Notes that the result of a call is recorded."""

    def __init__(self) -> None:
        self.returned = asyncio.Event()

    def recorded(self, run: str, line: Line) -> None:
        """Read a record."""
        if isinstance(line, EventLine) and isinstance(line.event, ev.ToolReturned):
            self.returned.set()


class Scripted:
    """Denies the first call that it is asked about, and approves the next."""

    def __init__(self) -> None:
        self.answered = 0

    async def ask(self, question: Question) -> Answer:
        """Answer."""
        self.answered += 1
        return Answer(self.answered > 1, "alice", "")

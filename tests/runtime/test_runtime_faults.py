"""When things go wrong around a run: rivals, interruptions, full disks, changed bytes."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

from artificer.core import events as ev
from artificer.core.record import EventLine, decode, encode
from artificer.core.state import RunPhase
from artificer.errors import (
    Fenced,
    InvariantError,
    NotFoundError,
    OperatorError,
    OwnedError,
    TamperedError,
)
from artificer.ports import (
    UNCLAIMED,
    BlobStore,
    Call,
    CheckedRecord,
    Claim,
    Head,
    Journal,
    Lease,
    NewRecord,
    Record,
)
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load, read_chain
from artificer.runtime.proving.replay import replay
from artificer.runtime.proving.verify import verify
from artificer.storage.blobs.disk import DiskStore
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after
from artificer.testing.rig import Rig, unpaired
from artificer.values.blocks import TextBlock, ToolResultBlock
from artificer.values.canon import digest_of
from artificer.values.model import ModelFailure
from wrapped_journal import Saying, WrappedJournal

UNKNOWN = "sha256:" + "0" * 64


class Disturbed(WrappedJournal):
    """A journal before whose appends something else happens."""

    def __init__(self, inner: Journal, happens: Callable[[int], Awaitable[None]]) -> None:
        super().__init__(inner)
        self.happens = happens

    async def before(self) -> None:
        await self.happens(self.appends)


class Work:
    """A tool that goes on until it is told to end, and says how it ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.release = asyncio.Event()
        self.ended: list[str] = []

    async def __call__(self, call: Call) -> str:
        self.begun.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return "done"


async def quick(call: Call) -> str:
    return "quick"


def results(state: object) -> list[str]:
    history = getattr(state, "history", ())
    return [b.status for m in history for b in m.blocks if isinstance(b, ToolResultBlock)]


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def rig(work: Work) -> Rig:
    rig = Rig()
    rig.tools.add("quick", quick, effect="once")
    rig.tools.add("work", work, effect="once")
    return rig


class Overtaken(MemoryJournal):
    """A journal into which the former owner still writes before a run is taken over."""

    spoilt = False

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        lease = await super().acquire(run, claim)
        if not self.spoilt:
            return lease
        records = records_after(lease.head, run, 1)
        head = await self.append(run, lease.epoch, lease.head, records)
        return Lease(epoch=lease.epoch, head=head)


@pytest.mark.req("run-fence")
class TestFence:
    async def test_a_run_that_was_taken_and_cannot_be_read_is_not_released(self) -> None:
        """The journal names us as its owner: what says that we live must stay."""
        journal = Overtaken()
        rig = Rig(journal)
        state = await rig.run([ModelFailure(code="auth", message="No.", attempts=1)])
        assert state.phase is RunPhase.STALLED and rig.owner.unreleased == 0
        journal.spoilt = True
        with pytest.raises(TamperedError):
            await rig.resume([say("Done.")], take_over=True)
        assert (rig.owner.owned_runs, rig.owner.unreleased) == ({}, 1)

    async def test_a_stale_engine_records_nothing_and_starts_nothing(
        self, rig: Rig, work: Work
    ) -> None:
        stale = ScriptedProvider([reply(call("work")), reply(call("quick"))])
        driving = asyncio.ensure_future(rig.run(stale))
        await work.begun.wait()
        other = Rig(rig.journal, rig.blobs, rig.tools, rig.clock)
        state = await other.resume([say("Taken over.")], take_over=True)
        assert (state.status, results(state)) == ("completed", ["ambiguous"])
        records = await rig.journal.read("run")
        work.release.set()
        with pytest.raises(Fenced):
            await driving
        assert await rig.journal.read("run") == records
        assert len(stale.requests) == 1, "nobody is asked in the name of a run that was lost"
        assert [c.definition.name for c in rig.tools.calls] == ["work"]

    async def test_a_run_that_goes_on_while_it_is_read_is_not_taken_over(
        self, rig: Rig, work: Work
    ) -> None:
        """Between reading a run and acquiring it, its owner may record something."""
        driving = asyncio.ensure_future(rig.run([reply(call("work")), say("Mine.")]))
        await work.begun.wait()

        class Late(Disturbed):
            async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
                work.release.set()
                await driving
                return await self.inner.acquire(run, claim)

        async def nothing(number: int) -> None: ...

        late = Rig(Late(rig.journal, nothing), rig.blobs, rig.tools, rig.clock)
        with pytest.raises(Fenced, match="changed while it was being read"):
            await late.resume([say("Stolen.")])
        state = await rig.resume([])
        assert state.narrative == "Mine."
        assert (await rig.replay()).identical

    async def test_of_two_that_resume_one_goes_on(self, rig: Rig) -> None:
        with pytest.raises(Exception, match="has no reply"):
            await rig.run([reply(call("quick"))])
        rigs = [Rig(rig.journal, rig.blobs, rig.tools, rig.clock) for _ in range(2)]
        ended = await asyncio.gather(
            *(r.resume([say(f"By {n}.")]) for n, r in enumerate(rigs)), return_exceptions=True
        )
        assert sum(isinstance(e, OwnedError) for e in ended) == 1
        assert (await rig.replay()).identical

    async def test_cancelling_from_outside_fences_whoever_drives(
        self, rig: Rig, work: Work
    ) -> None:
        driving = asyncio.ensure_future(rig.run([reply(call("work"))]))
        await work.begun.wait()
        state = await rig.engine(ScriptedProvider([])).cancel("run", "enough")
        assert (state.status, results(state)) == ("cancelled", ["ambiguous"]), "it may happen yet"
        work.release.set()
        with pytest.raises(Fenced):
            await driving
        assert (await rig.replay()).identical


@pytest.mark.req("run-interrupt")
class TestInterrupted:
    async def test_cancelling_the_task_leaves_a_run_to_resume(self, rig: Rig, work: Work) -> None:
        script = [reply(call("quick"), call("work"))]
        driving = asyncio.ensure_future(rig.run(script))
        await work.begun.wait()
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving
        assert work.ended == ["cancelled"], "no work goes on"
        state = await rig.resume([say("After all.")])
        assert (state.status, results(state)) == ("completed", ["ok", "ambiguous"])
        assert unpaired(state.history) == []
        assert (await rig.replay()).identical

    @pytest.mark.parametrize("number", [1, 2, 3])
    async def test_cancelled_while_recording_the_commit_comes_to_its_end(
        self, rig: Rig, number: int
    ) -> None:
        reached, go_on = asyncio.Event(), asyncio.Event()

        async def hold(append: int) -> None:
            if append == number:
                reached.set()
                await go_on.wait()

        held = dataclasses.replace(rig, journal=Disturbed(rig.journal, hold))
        driving = asyncio.ensure_future(held.run([reply(call("quick")), say("Done.")]))
        await reached.wait()
        driving.cancel()
        await asyncio.sleep(0)
        driving.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await driving
        recorded = [type(e).__name__ for e in await rig.events()]
        asked = ["PromptReceived", "ModelResponded", "CallsJudged", "ToolReturned"]
        assert recorded == asked[: (1, 3, 4)[number - 1]], "what had happened is recorded"
        rest = [reply(call("quick"))] if number == 1 else []
        state = await rig.resume([*rest, say("Done.")])
        assert state.status == "completed"
        assert (await rig.replay()).identical

    async def test_stopping_ends_the_run_with_every_call_answered(
        self, rig: Rig, work: Work
    ) -> None:
        text = TextBlock(text="I begin.")
        engine = rig.engine(ScriptedProvider([reply(text, call("quick"), call("work"))]))
        driving = asyncio.ensure_future(engine.start("run", rig.spec()))
        await work.begun.wait()
        engine.stop("run", "enough")
        state = await driving
        assert (state.status, state.phase) == ("cancelled", RunPhase.FINISHED)
        assert results(state) == ["ok", "cancelled"]
        assert work.ended == ["cancelled"]
        deliverable = rig.deliverable(state)
        assert deliverable.narrative == "I begin." and "Cancelled" in deliverable.note
        (cancel,) = [e for e in await rig.events() if isinstance(e, ev.CancelRequested)]
        assert cancel.reason == "enough"
        assert (await rig.replay()).identical

    async def test_what_is_done_when_it_is_stopped_is_not_said_to_be_cancelled(
        self, rig: Rig
    ) -> None:
        engine = rig.engine(ScriptedProvider([reply(call("last"))]))

        async def last(call: Call) -> str:
            engine.stop("run", "at the last moment")
            return "done"

        rig.tools.add("last", last, effect="once")
        engine = rig.engine(ScriptedProvider([reply(call("last"))]))
        state = await engine.start("run", rig.spec())
        assert (state.status, results(state)) == ("cancelled", ["ok"])

    async def test_work_that_will_not_be_torn_apart_is_recorded_as_done(
        self, rig: Rig, work: Work
    ) -> None:
        begun = asyncio.Event()

        async def careful(call: Call) -> str:
            begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                return "brought to its end"
            return "never"

        rig.tools.add("careful", careful, effect="once")
        engine = rig.engine(ScriptedProvider([reply(call("careful"), call("work"))]))
        driving = asyncio.ensure_future(engine.start("run", rig.spec()))
        await asyncio.gather(begun.wait(), work.begun.wait())
        engine.stop("run", "enough")
        state = await driving
        assert (state.status, results(state)) == ("cancelled", ["ok", "cancelled"])

    async def test_stopped_while_the_model_speaks(self, rig: Rig) -> None:
        class Endless(ScriptedProvider):
            async def generate(self, *args: object) -> object:  # type: ignore[override]
                engine.stop("run", "enough")
                await asyncio.sleep(3600)
                return None

        engine = rig.engine(Endless([]))
        state = await engine.start("run", rig.spec())
        assert (state.status, state.turn) == ("cancelled", 1)
        assert (await rig.replay()).identical

    async def test_stopping_a_run_that_is_not_driven_here_does_nothing(self, rig: Rig) -> None:
        engine = rig.engine(ScriptedProvider([say("One.")]))
        engine.stop("first", "before it began")
        assert (await engine.start("first", rig.spec())).status == "completed"


@pytest.mark.req("run-storage-fault")
class TestStorageFaults:
    @pytest.mark.parametrize("number", [1, 2, 3, 4])
    async def test_what_is_not_recorded_is_not_performed(self, rig: Rig, number: int) -> None:
        performed = 0

        async def fail(append: int) -> None:
            nonlocal performed
            if append == number:
                performed = len(rig.tools.calls)
                raise OperatorError("The disk is full.")

        broken = dataclasses.replace(rig, journal=Disturbed(rig.journal, fail))
        script = ScriptedProvider([reply(call("quick")), reply(call("quick")), say("Done.")])
        with pytest.raises(OperatorError, match="full"):
            await broken.run(script)
        assert len(rig.tools.calls) == performed, "nothing was begun after the failure"
        if number == 1:
            assert await rig.journal.read("run") == []
            state = await rig.run([reply(call("quick")), reply(call("quick")), say("Done.")])
        else:
            turns = sum(isinstance(e, ev.ModelResponded) for e in await rig.events())
            answers = [reply(call("quick")), reply(call("quick")), say("Done.")]
            state = await rig.resume(answers[turns:])
        assert state.status == "completed"
        assert unpaired(state.history) == []
        assert len({c.key for c in rig.tools.calls}) == len(rig.tools.calls)
        assert (await rig.replay()).identical

    async def test_blobs_that_cannot_be_stored_stop_the_commit(self, rig: Rig) -> None:
        class Full(MemoryStore):
            full = False

            def put(self, data: bytes) -> str:
                if self.full and len(data) > 5_000:
                    raise OperatorError("The disk is full.")
                return super().put(data)

        blobs = Full()
        rig = dataclasses.replace(rig, blobs=blobs)
        blobs.full = True
        with pytest.raises(OperatorError, match="full"):
            await rig.run([say("x" * 10_000)])
        blobs.full = False
        before = len(await rig.journal.read("run"))
        assert before == 2, "the prompt and the first intent"
        state = await rig.resume([say("y" * 10_000)])
        assert (state.status, len(state.narrative or "")) == ("completed", 10_000)


async def recorded(journal: Journal, blobs: BlobStore) -> str:
    """Record a run with blobs of every origin; return the digest of its last state."""
    rig = Rig(journal, blobs)

    async def long(call: Call) -> str:
        return "é" * 9_000

    rig.tools.add("long", long, effect="once")
    items = ["x" * 500] * 10
    made = call("create_list", list={"kind": "list", "id": "a", "items": items})
    state = await rig.run(
        [reply(call("long"), made), say("{{artifact:list:a}}" + "ü" * 5_000)], kind="deliver"
    )
    assert state.status == "completed"
    return state.digest


@pytest.mark.req("tamper-shows")
class TestTampering:
    async def test_any_changed_byte_of_any_record_is_found_and_named(self) -> None:
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        records = await journal.read("run")

        for index, record in enumerate(records):
            for at in range(0, len(record.body), max(1, len(record.body) // 7)):
                body = bytearray(record.body)
                body[at] ^= 1
                for hash_ in (record.hash, digest_of(bytes(body))):
                    changed = structs.replace(record, body=bytes(body), hash=hash_)
                    tampered = [*records[:index], changed, *records[index + 1 :]]
                    found = await replay(Saying(tampered), blobs, "run", ScriptedProvider([]))
                    assert not found.identical
                    assert found.divergence is not None
                    assert found.divergence.seq in (record.seq, record.seq + 1)
                    with pytest.raises(TamperedError):
                        await load(Saying(tampered), blobs, "run")

    @pytest.mark.req("records-hashed-once")
    async def test_a_checked_record_cannot_have_another_hash(self) -> None:
        """Verifying the chain relies on that, and does not hash its body again."""
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        records = await journal.read("run")
        checked = [CheckedRecord(*structs.astuple(record)) for record in records]
        assert checked == records and records == checked
        assert {*checked} == {*records}
        assert list(read_chain("run", checked, blobs)) == list(read_chain("run", records, blobs))

        for change in ({"body": records[1].body}, {"hash": records[1].hash}):
            with pytest.raises(TamperedError, match="Record 1 of run run has a body that does not"):
                structs.replace(checked[0], **change)

    @pytest.mark.req("records-made-once")
    async def test_a_new_record_has_the_hash_of_its_body_whatever_it_is_given(self) -> None:
        """An append relies on that; where the body says that it stands, it checks."""
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        records = await journal.read("run")
        new = [NewRecord(r.run, r.seq, UNKNOWN, r.body) for r in records]
        assert new == records and records == new
        assert structs.replace(new[0], body=records[1].body).hash == records[1].hash

        other = MemoryJournal()
        lease = await other.acquire("run")
        with pytest.raises(InvariantError, match="Record 1 of run run names run, seq and prev as"):
            await other.append(
                "run", lease.epoch, lease.head, [NewRecord("run", 1, "", new[1].body)]
            )
        assert (await other.append("run", lease.epoch, lease.head, new)).hash == records[-1].hash

    @pytest.mark.parametrize("false", [{"seq": 1}, {"run": "other"}, {"prev": UNKNOWN}])
    async def test_a_record_that_names_another_place_is_refused(
        self, false: dict[str, object]
    ) -> None:
        """Its bytes agree with their hash: only where it says that it stands is false."""
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        last = (await journal.read("run"))[-1]
        line = decode(last.body, blobs.get).replace(**false)
        body, _ = encode(line)
        changed = structs.replace(last, body=body, hash=digest_of(body))
        tampered = [*(await journal.read("run"))[:-1], changed]
        with pytest.raises(TamperedError, match=f"record {last.seq} does not follow its predec"):
            list(read_chain("run", tampered, blobs))

    async def test_records_removed_doubled_or_moved_are_found(self) -> None:
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        records = await journal.read("run")

        for index in range(len(records) - 1):
            removed = [*records[:index], *records[index + 1 :]]
            doubled = [*records[: index + 1], *records[index:]]
            moved = [*records[:index], records[index + 1], records[index], *records[index + 2 :]]
            for tampered in (removed, doubled, moved):
                found = await replay(Saying(tampered), blobs, "run", None)
                assert found.divergence is not None and not found.identical

    async def test_a_journal_cut_within_a_commit_is_refused(self) -> None:
        """An event without the intents that follow from it was never written so."""
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        records = await journal.read("run")
        refused, diverged = set(), set()
        for end in range(1, len(records)):
            found = await replay(Saying(records[:end]), blobs, "run", None)
            if not found.identical:
                diverged.add(end)
            try:
                await load(Saying(records[:end]), blobs, "run")
            except TamperedError as error:
                assert f"record {end + 1} is missing" in str(error)
                refused.add(end)
        assert refused and refused <= diverged

    async def test_a_request_that_comes_out_differently_is_not_counted_as_identical(self) -> None:
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        found = await replay(journal, blobs, "run", OpenAIChat())
        assert found.divergence is not None and found.divergence.what == "request of intent 1"
        assert (found.events, found.intents, found.requests) == (1, 0, 0)

    async def test_a_state_that_was_rewritten_with_all_its_hashes_is_found(self) -> None:
        """Hashes can be computed anew by whoever changes a record; what it leads to cannot."""
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        records = await journal.read("run")
        rewritten: list[Record] = []
        head = Head()
        for record in records:
            body = record.body.replace(
                b'"cost_micros":null,"duration', b'"cost_micros":12345,"duration'
            )
            old = f'"prev":"{records[record.seq - 2].hash if record.seq > 1 else ""}"'.encode()
            body = body.replace(old, f'"prev":"{head.hash}"'.encode())
            rewritten.append(Record("run", record.seq, digest_of(body), body))
            head = Head(seq=record.seq, hash=rewritten[-1].hash)
        forged = MemoryJournal()
        lease = await forged.acquire("run")
        await forged.append("run", lease.epoch, Head(), rewritten)
        assert (await verify(forged, blobs)).problems == [], "every hash fits"
        found = await replay(forged, blobs, "run", ScriptedProvider([]))
        assert found.divergence is not None
        assert "state after ModelResponded" in found.divergence.what
        first = next(
            line.seq
            for line in (await load(journal, blobs, "run")).lines
            if isinstance(line, EventLine) and isinstance(line.event, ev.ModelResponded)
        )
        assert found.divergence.seq == first

    async def test_any_changed_or_missing_blob_is_found(self, tmp_path: Path) -> None:
        async with SqliteJournal(tmp_path / "journal.db", "process") as journal:
            blobs = DiskStore(tmp_path / "blobs", "process")
            await recorded(journal, blobs)
            assert (await verify(journal, blobs)).sound
            files = sorted(f for f in (tmp_path / "blobs").rglob("*") if f.is_file())
            assert len(files) >= 5
            for file in files:
                data = file.read_bytes()
                file.chmod(0o600)
                file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
                assert not (await verify(journal, blobs)).sound, file
                file.unlink()
                assert not (await verify(journal, blobs)).sound, file
                file.write_bytes(data)
            assert (await verify(journal, blobs)).problems == []

    async def test_a_missing_blob_names_its_record(self) -> None:
        journal, blobs = MemoryJournal(), MemoryStore()
        await recorded(journal, blobs)
        kept = MemoryStore()
        found = await replay(journal, kept, "run", None)
        assert found.divergence is not None
        records = await journal.read("run")
        assert b'"$blob"' in records[found.divergence.seq - 1].body
        assert "Blob sha256:" in found.divergence.actual

    async def test_bytes_changed_in_the_database_file(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.db"
        blobs = DiskStore(tmp_path / "blobs", "process")
        async with SqliteJournal(path, "process") as journal:
            await recorded(journal, blobs)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE records SET body = CAST(substr(body, 2) AS BLOB) WHERE seq = 5")
        db.close()
        async with SqliteJournal(path, "process") as journal:
            assert any("Record 5 of run" in p for p in (await verify(journal, blobs)).problems)
            with pytest.raises(TamperedError):
                await load(journal, blobs, "run")

    async def test_what_is_not_there(self) -> None:
        rig = Rig()
        for attempt in (rig.resume([]), rig.replay(), rig.events()):
            with pytest.raises(NotFoundError, match="does not exist"):
                await attempt
        assert await rig.journal.runs() == [], "asking does not make one"

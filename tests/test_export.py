"""Exported runs: one file, the same anywhere, whoever wrote it."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import random
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import artificer
from artificer import OperatorError, Policy, Rule, World
from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.core import events as ev
from artificer.core.record import EventLine, encode
from artificer.core.signals import AnswerCall
from artificer.core.spec import Limits
from artificer.errors import ArtificerError, AuthorError, TamperedError
from artificer.ports import Head, Journal, Record
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.export import export
from artificer.recordings.file import compress, decompress, read_file
from artificer.recordings.recording import check, read_recording
from artificer.recordings.rerun import rerun
from artificer.runtime.load import load
from artificer.values import canon
from artificer.values.canon import digest_of
from artificer.wiring.recordings import rerun_recording
from sampling import sample
from wrapped_journal import WrappedJournal

JOURNALS = sorted((Path(__file__).parent / "journals").glob("*.jsonl"))


@tool(effect="pure")
async def long(n: int) -> str:
    """Something long."""
    return f"{n} " * 30_000


@tool(effect="pure")
async def little() -> str:
    """Something short."""
    return "short"


async def recorded(world: World) -> str:
    chart = {"kind": "list", "id": "l", "items": ["é"]}
    script = [reply(call("long", n=1), call("create_list", list=chart)), say("{{artifact:list:l}}")]
    run = await world.run(
        "Go.", Agent(model=ScriptedProvider(script), tools=[long], kind="deliver")
    )
    assert run.status == "completed"
    return run.id


class GoingOn(WrappedJournal):
    """A journal with a run that goes on after it was first read."""

    def __init__(self, inner: Journal, go_on: Callable[[], Awaitable[object]]) -> None:
        super().__init__(inner)
        self._go_on: Callable[[], Awaitable[object]] | None = go_on

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        found = await super().read(run, after, limit)
        go_on, self._go_on = self._go_on, None
        if go_on is not None:
            await go_on()
        return found


def on_disk(folder: Path, name: str) -> Config:
    return Config(home=folder, project=name)


@pytest.mark.req("export")
class TestExport:
    async def test_it_verifies_and_replays_anywhere(self, tmp_path: Path) -> None:
        async with World.open(on_disk(tmp_path, "a")) as world:
            run = await recorded(world)
            data = await world.archive.export_run(run)
            assert data == await world.archive.export_run(run), "the same bytes every time"
            first = await world.archive.history(run)
            markdown = first.run.markdown
        async with World.open(on_disk(tmp_path, "b")) as other:
            assert await other.import_run(data) == run
            assert (await other.archive.history(run)).lines == first.lines
            assert (await other.get(run)).markdown == markdown
            found = await other.archive.replay(run)
            assert found.identical and found.requests == 2
            assert (await other.archive.verify()).problems == []
            assert await other.archive.export_run(run) == data
            assert await other.import_run(data) == run, "twice is once"
            assert await other.archive.runs() == [run]

    async def test_a_run_that_goes_on_is_exported_as_it_stood(self) -> None:
        async with World.in_memory() as world:
            model = ScriptedProvider([reply(call("little")), say("Done.")])
            asks = Policy(rules=(Rule(decision="ask", tool="little"),))
            agent = Agent(model, kind="chat", tools=[little], policy=asks)
            run = await world.run("Go.", agent, run_id="r")
            before = await world.storage.journal.read("r")
            (question,) = run.questions
            await world.send("r", AnswerCall(call=question.digest, approved=True))
            going = GoingOn(world.storage.journal, lambda: world.resume("r", agent))
            recording = await read_recording(await export(going, world.storage.blobs, "r"))
            assert (await world.get("r")).text == "Done."
            assert await recording.journal.read("r") == before
            assert await check(recording, model) == []

    async def test_a_different_run_with_the_same_id_is_not_replaced(self) -> None:
        async with World.in_memory() as world, World.in_memory() as other:
            await world.run(
                "a", Agent(model=ScriptedProvider([say("a")]), kind="chat"), run_id="one"
            )
            await other.run(
                "b", Agent(model=ScriptedProvider([say("b")]), kind="chat"), run_id="one"
            )
            with pytest.raises(OperatorError, match="another run"):
                await other.import_run(await world.archive.export_run("one"))
            assert (await other.get("one")).text == "b"

    async def test_what_is_missing_is_named(self) -> None:
        async with World.in_memory() as world:
            run = await recorded(world)
            lines = (await world.archive.history(run)).lines
            whole = next(
                line.event.whole
                for line in lines
                if isinstance(line, EventLine)
                and isinstance(line.event, ev.ToolReturned)
                and line.event.whole
            )
            del world._resources.storage.blobs._store._blobs[whole]  # type: ignore[attr-defined]
            with pytest.raises(ArtificerError, match=str(whole)):
                await world.archive.export_run(run)

    async def test_evidence_keeps_its_blobs(self) -> None:
        """Content too long for an envelope is exported, and verify reports it when it is gone."""
        from artificer.ports import Call, Receipt
        from artificer.runtime.proving.verify import verify
        from artificer.testing.rig import Rig

        rig = Rig()
        kept = rig.blobs.put(b"all of its output")

        async def work(call: Call) -> Receipt:
            evidence = json.dumps({"output_blobs": [kept], "output_hash": digest_of(b"other")})
            return Receipt(status="ok", content="x", evidence=evidence)

        rig.tools.add("work", work)
        await rig.run([reply(call("work")), say("Done.")])
        recording = await read_recording(await export(rig.journal, rig.blobs, "run"))
        assert recording.blobs.has(kept)
        del rig.blobs._blobs[kept]  # type: ignore[attr-defined]
        assert any(kept in problem for problem in (await verify(rig.journal, rig.blobs)).problems)

    async def test_a_recording_that_nobody_could_read_is_not_made(self) -> None:

        async with World.in_memory() as world:
            run = await recorded(world)
            storage = world._resources.storage
            data = await export(storage.journal, storage.blobs, run)
            assert await export(storage.journal, storage.blobs, run, len(data)) == data
            for limit in (len(data) - 1, 10):
                with pytest.raises(OperatorError, match=f"more than {limit:,} bytes") as refused:
                    await export(storage.journal, storage.blobs, run, limit)
                assert "--format zip" in (refused.value.hint or "")


@pytest.mark.req("import-hostile")
class TestHostile:
    def test_a_bomb_is_not_decompressed(self) -> None:
        bomb = gzip.compress(b"\0" * 50_000_000)
        with pytest.raises(TamperedError, match="longer than"):
            decompress(bomb, limit=1_000_000)

    def test_plain_files_are_bounded_too(self) -> None:
        with pytest.raises(TamperedError, match="longer than 10 bytes") as refused:
            decompress(b"x" * 11, limit=10)
        assert "artificer --home FOLDER --project NAME" in (refused.value.hint or "")
        assert decompress(b"x" * 10, limit=10) == b"x" * 10
        assert decompress(gzip.compress(b"x" * 10), limit=10) == b"x" * 10

    def test_data_after_the_end_is_refused(self) -> None:
        packed = compress(b"x")
        for more in (b"y", packed, b"\0" * 10):
            with pytest.raises(TamperedError, match="data after its end"):
                decompress(packed + more)
        with pytest.raises(TamperedError, match="truncated"):
            decompress(packed[:-1])

    @pytest.mark.parametrize(
        "run", ["../../etc/passwd", "/abs", "a/b", "", ".", "..", "a\0b", "-rf", "x" * 201, "é"]
    )
    async def test_an_id_is_never_a_path(self, run: str) -> None:
        async with World.in_memory() as world:
            await world.run(
                "a", Agent(model=ScriptedProvider([say("a")]), kind="chat"), run_id="plain"
            )
            first, *rest = decompress(await world.archive.export_run("plain")).decode().splitlines()
            header = json.dumps({**json.loads(first), "run": run}, separators=(",", ":"))
            with pytest.raises(TamperedError, match="not a recording"):
                await world.import_run("\n".join([header, *rest, ""]).encode())

    async def test_a_chain_with_forged_states_is_not_taken(self) -> None:
        async with World.in_memory() as world, World.in_memory() as other:
            run = await recorded(world)
            data = decompress(await world.archive.export_run(run)).decode().splitlines()
            lines = (await world.archive.history(run)).lines
            head, bodies = Head(), []
            for line in lines:
                changes: dict[str, Any] = {"prev": head.hash}
                if isinstance(line, EventLine) and line.seq == 3:
                    changes["state"] = digest_of(b"forged")
                body, _ = encode(line.replace(**changes))
                head = Head(seq=line.seq, hash=digest_of(body))
                bodies.append(json.dumps({"record": body.decode()}, separators=(",", ":")))
            first = {**json.loads(data[0]), "head": head.to_json()}
            header = json.dumps(first, separators=(",", ":"))
            forged = [header, *bodies, *(text for text in data if text.startswith('{"blob'))]
            with pytest.raises(TamperedError, match=r"record 3|does not replay"):
                await other.import_run(("\n".join(forged) + "\n").encode())
            assert await other.archive.runs() == []

    async def test_records_in_another_order_are_blamed_on_the_file(self) -> None:
        async with World.in_memory() as world, World.in_memory() as other:
            run = await recorded(world)
            lines = decompress(await world.archive.export_run(run)).decode().splitlines()
            lines[2], lines[3] = lines[3], lines[2]
            with pytest.raises(TamperedError, match="record 2") as refused:
                await other.import_run(("\n".join(lines) + "\n").encode())
            assert "export it again" in (refused.value.hint or "")

    async def test_blobs_that_nothing_refers_to_are_left_out(self) -> None:
        async with World.in_memory() as world, World.in_memory() as other:
            run = await recorded(world)
            data = decompress(await world.archive.export_run(run)) + b'{"blob":"stuffing"}\n'
            await other.import_run(data)
            assert not other._resources.storage.blobs.has(digest_of(b"stuffing"))

    async def test_no_changed_byte_is_taken(self) -> None:
        async with World.in_memory() as world:
            data = await world.archive.export_run(await recorded(world))
        choice = random.Random(7)
        for _ in range(60):
            changed = bytearray(data)
            changed[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
            async with World.in_memory() as other:
                try:
                    await other.import_run(bytes(changed))
                except TamperedError:
                    assert await other.archive.runs() == []
                else:  # bytes of gzip's header that say nothing of the content
                    assert decompress(bytes(changed)) == decompress(data)

    @pytest.mark.req("export-head")
    @pytest.mark.parametrize("flip", [1, 0x20])
    async def test_every_byte_is_covered(self, flip: int) -> None:
        """The last record's too, of which nothing else in the file names the hash."""
        model = ScriptedProvider([reply(call("little")), say("é")])
        async with World.in_memory() as world:
            run = await world.run("Go.", Agent(model=model, tools=[little], kind="chat"))
            data = decompress(await world.archive.export_run(run.id))
        places = sample(range(len(data)), len(data) // 16, purpose=("recording", flip))
        silent = [at for at in places if not await self.is_refused(data, at, flip)]
        assert silent == []

    async def is_refused(self, data: bytes, at: int, flip: int) -> bool:
        """Importing and testing do no more than this before they say that all is well."""
        changed = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
        try:
            return bool(await check(await read_recording(changed), ScriptedProvider([])))
        except TamperedError:
            return True

    @pytest.mark.req("export-head")
    async def test_a_head_is_named_exactly_in_format_2(self) -> None:
        async with World.in_memory() as world:
            run = await world.run("a", Agent(model=ScriptedProvider([say("a")]), kind="chat"))
            first, *rest = decompress(await world.archive.export_run(run.id)).decode().splitlines()
        header = json.loads(first)
        older = {name: header[name] for name in ("cassette", "run", "state")}
        for changed in (older, {**header, "cassette": 1}, {**header, "head": None}):
            text = json.dumps(changed, separators=(",", ":"))
            with pytest.raises(TamperedError):
                await read_recording("\n".join([text, *rest, ""]).encode())
        assert header["head"]["seq"] == sum(text.startswith('{"record') for text in rest)

    @pytest.mark.req("export-head")
    async def test_a_file_of_format_1_is_read_and_exported_as_2(self) -> None:
        data = read_file(JOURNALS[0])
        assert json.loads(data.splitlines()[0])["cassette"] == 1
        async with World.in_memory() as world:
            run = await world.import_run(data)
            again = decompress(await world.archive.export_run(run)).splitlines()
        assert json.loads(again[0])["cassette"] == 2
        assert [line for line in again[1:] if line.startswith(b'{"record')] == [
            line for line in data.splitlines() if line.startswith(b'{"record')
        ]

    @given(st.binary(max_size=300) | st.binary(max_size=300).map(zlib.compress).map(gzip.compress))
    @settings(max_examples=150, deadline=None)
    def test_any_bytes_are_refused_in_a_sentence(self, data: bytes) -> None:
        with pytest.raises(TamperedError):
            asyncio.run(read_recording(data))

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["record", "blob", "blob64", "cassette", "run", "state", "x"]),
                    inner,
                    max_size=3,
                )
            ),
        ).flatmap(lambda value: st.lists(st.just(value), min_size=1, max_size=3))
    )
    @settings(max_examples=150, deadline=None)
    def test_any_lines_are_refused_in_a_sentence(self, lines: list[Any]) -> None:
        header = {"cassette": 1, "run": "a", "state": digest_of(b"")}
        texts = [json.dumps(line, separators=(",", ":")) for line in [header, *lines]]
        with pytest.raises(ArtificerError):
            asyncio.run(_import("".join(text + "\n" for text in texts).encode()))

    async def test_a_file_without_records_is_refused(self) -> None:
        header = {"cassette": 1, "run": "a", "state": digest_of(b"")}
        text = json.dumps(header, separators=(",", ":")) + "\n"
        with pytest.raises(TamperedError, match="not a recording: no records"):
            await read_recording(text.encode())

    async def test_deep_nesting_is_refused(self) -> None:
        deep = b"[" * 100_000 + b"]" * 100_000
        with pytest.raises(TamperedError):
            await read_recording(deep)


async def _import(data: bytes) -> str:
    async with World.in_memory() as world:
        return await world.import_run(data)


@tool(effect="pure")
async def wordy(n: int) -> str:
    """So long that the conversation is most of what is hashed, and that it is not compacted."""
    return f"{n} " * 500


class CountingHashes:
    """The hashes of the standard library, which count their bytes."""

    def __init__(self) -> None:
        self.bytes = 0

    def sha256(self, data: bytes = b"") -> CountingHash:
        """As hashlib's."""
        return CountingHash(self, hashlib.sha256()).update(data)


class CountingHash:
    def __init__(self, counted: CountingHashes, inner: Any) -> None:
        self.counted, self.inner = counted, inner

    def update(self, data: bytes) -> CountingHash:
        self.counted.bytes += len(data)
        self.inner.update(data)
        return self

    def copy(self) -> CountingHash:
        return CountingHash(self.counted, self.inner.copy())

    def hexdigest(self) -> str:
        return str(self.inner.hexdigest())


@pytest.mark.req("rerun")
class TestRerun:
    @pytest.mark.parametrize("file", JOURNALS, ids=[file.stem for file in JOURNALS])
    async def test_recorded_runs_ask_the_same_again(self, file: Path) -> None:
        async with World.in_memory() as world:
            assert await rerun_recording(read_file(file), world.config) == []

    @pytest.mark.req("rerun-in-a-program")
    def test_a_program_tests_a_recording_with_one_call(self, tmp_path: Path) -> None:
        agent = Agent(ScriptedProvider(["Hello."]), kind="chat")

        async def exported() -> bytes:
            async with World.in_memory() as world:
                run = await agent.run("Hi.", world=world)
                return await world.archive.export_run(run.id)

        data, config = asyncio.run(exported()), Config(home=tmp_path)
        assert artificer.rerun(data, config) == []
        with pytest.raises(AuthorError, match="is not an exported run"):
            artificer.rerun("tea.run.gz", config)  # type: ignore[arg-type]
        with pytest.raises(TamperedError):
            artificer.rerun(data[:-9], config)

    @pytest.mark.req("rerun-linear")
    async def test_it_is_linear_in_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Twice the turns are twice the bytes that are hashed, while a conversation grows."""
        hashed = []
        for turns in (15, 30, 60):
            async with World.in_memory() as world:
                script = [*[reply(call("wordy", n=n)) for n in range(turns)], say("Done.")]
                limits = Limits(turns=turns + 1)
                run = await world.run(
                    "Go.",
                    Agent(
                        model=ScriptedProvider(script), tools=[wordy], limits=limits, kind="chat"
                    ),
                )
                data = await world.archive.export_run(run.id)
                with monkeypatch.context() as patch:
                    counting = CountingHashes()
                    patch.setattr(canon, "sha256", counting.sha256)
                    assert await rerun_recording(data, world.config) == []
                hashed.append(counting.bytes)
        assert hashed[2] - hashed[1] < 2.2 * (hashed[1] - hashed[0])

    async def test_a_change_of_the_program_shows(self) -> None:
        """As a release with another policy engine would: the recorded denial is not made again."""
        async with World.in_memory() as world:
            deny = Policy(rules=(Rule(decision="deny", tool="long"),))
            script = [reply(call("long", n=1)), say("No.")]
            run = await world.run(
                "Go.", Agent(model=ScriptedProvider(script), tools=[long], policy=deny, kind="chat")
            )
            journal, blobs = world._resources.storage.journal, world._resources.storage.blobs
            recorded = await load(journal, blobs, run.id)
            assert await rerun(recorded, blobs, ScriptedProvider([])) == []
            first, *rest = recorded.lines
            assert isinstance(first, EventLine) and isinstance(first.event, ev.PromptReceived)
            spec = first.event.spec.replace(policy=Policy())
            allowed = first.replace(event=first.event.replace(spec=spec))

            (fault,) = await rerun(
                structs.replace(recorded, lines=(allowed, *rest)), blobs, ScriptedProvider([])
            )
            assert "it makes 1 requests, not 2" in fault

    async def test_a_provider_that_maps_otherwise_shows(self) -> None:
        from artificer.providers.openai_chat import OpenAIChat

        recording = await read_recording(read_file(JOURNALS[0]))
        recorded = await load(recording.journal, recording.blobs, recording.run)
        (fault,) = await rerun(recorded, recording.blobs, OpenAIChat())
        assert fault.startswith("request 1 is sha256:")

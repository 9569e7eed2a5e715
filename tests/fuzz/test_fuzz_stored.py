"""Stores and files: records, snapshots, signals, recordings, workspaces, databases.

Anyone who can write there could have written anything: changed content is refused.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from fuzz_kit import corpus, declared, fuzz, trees
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts import build_catalog
from artificer.backends.workspace.spec.tree import diff, load, walk
from artificer.backends.workspace.spec.version import read_version
from artificer.config import Config
from artificer.core import signals
from artificer.core.record import decode, encode
from artificer.core.tombstone import tombstone
from artificer.errors import TamperedError
from artificer.ports import Head, Record
from artificer.recordings.file import compress, decompress
from artificer.recordings.recording import check, read_recording
from artificer.runtime.load import load as load_run
from artificer.runtime.proving.replay import replay
from artificer.runtime.proving.verify import cited
from artificer.runtime.snapshot import keep, restore
from artificer.storage.chain import place_named
from artificer.storage.memory import MemoryJournal, MemorySnapshots
from artificer.values.canon import canonical, digest_of
from artificer.wiring.storage import open_storage

JOURNALS = Path(__file__).parents[1] / "journals"
RECORDINGS = [
    path.read_bytes() for path in sorted(JOURNALS.glob("*.jsonl")) if path.stat().st_size < 80_000
]
RECORDS = [
    json.loads(json.loads(line)["record"])
    for data in RECORDINGS
    for line in data.decode().splitlines()
    if '"record"' in line
]
BY_TYPE = {r.get("event", r.get("intent"))["type"]: r for r in RECORDS}
"""One record of each kind."""


def missing(digest: str) -> bytes:
    """No blob is there."""
    return b'{"a": 1}'


@pytest.mark.req("fuzz-stored")
@given(trees(*BY_TYPE.values()))
@fuzz(120)
def test_a_record_is_read_or_refused_and_what_is_read_can_be_written(value: Any) -> None:
    body = _json(value)
    place_named(body)
    tombstone(body)
    line = declared(decode, body, missing)
    if line is not None:
        for digest in cited(line):
            assert isinstance(digest, str)
        written = declared(encode, line)  # a number may be beyond what canonical JSON says
        if written is not None:
            blobs = {digest_of(data): data for data in written[1]}
            assert encode(decode(written[0], blobs.__getitem__))[0] == written[0]


@pytest.mark.req("fuzz-stored")
@given(corpus(*(canonical(r) for r in BY_TYPE.values())))
@fuzz(60)
def test_the_bytes_of_a_record_are_read_or_refused(body: bytes) -> None:
    place_named(body)
    tombstone(body)
    declared(decode, body, missing)


class _Told(MemoryJournal):
    """A journal that says what it is told to."""

    def __init__(self, records: list[Record]) -> None:
        super().__init__()
        self._told = records

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """The records, whatever they say."""
        return self._told[after : None if limit is None else after + limit]


@pytest.mark.req("fuzz-stored")
@given(
    st.integers(0, len(RECORDINGS) - 1),
    st.lists(st.tuples(st.integers(0), trees(*BY_TYPE.values())), max_size=4),
)
@fuzz(20)
def test_a_chain_of_odd_records_is_followed_or_refused(
    which: int, changes: list[tuple[int, Any]]
) -> None:
    """The hashes are right: whoever writes a file can compute them."""

    async def follow() -> None:
        recording = await read_recording(RECORDINGS[which])
        bodies = [json.loads(r.body) for r in await recording.journal.read(recording.run)]
        for where, change in changes:
            number = where % len(bodies)
            if isinstance(change, dict):
                bodies[number] = {
                    **change,
                    **{k: bodies[number][k] for k in ("run", "seq", "prev")},
                }
        head, records = Head(), []
        for seq, body in enumerate(bodies, 1):
            written = _json({**body, "run": recording.run, "seq": seq, "prev": head.hash})
            records.append(Record(recording.run, seq, digest_of(written), written))
            head = Head(seq=seq, hash=digest_of(written))
        journal = _Told(records)
        await replay(journal, recording.blobs, recording.run, None)
        await load_run(journal, recording.blobs, recording.run)

    declared(lambda: asyncio.run(follow()))


@pytest.mark.req("fuzz-stored")
@given(corpus(*RECORDINGS, *(gzip.compress(c, mtime=0) for c in RECORDINGS[:3])), st.booleans())
@fuzz(60)
def test_a_recording_is_read_or_refused(data: bytes, packed: bool) -> None:
    async def read() -> None:
        recording = await read_recording(compress(data) if packed else data)
        await check(recording, None)

    declared(lambda: asyncio.run(read()))


@pytest.mark.req("fuzz-stored")
def test_an_oversized_recording_is_refused() -> None:
    bomb = gzip.compress(b"\0" * 4_000_000)
    with pytest.raises(TamperedError, match="longer"):
        decompress(bomb, 1_000_000)


@pytest.mark.req("fuzz-stored")
@given(st.integers(0, 5), corpus(b'{"role":"user"}'), st.data())
@fuzz(20)
def test_a_snapshot_is_proven_or_left_aside(which: int, chunk: bytes, draw: st.DataObject) -> None:
    async def resume() -> None:
        recording = await read_recording(RECORDINGS[which])
        loaded = await load_run(recording.journal, recording.blobs, recording.run)
        snapshots = MemorySnapshots()
        head = (await recording.journal.runs())[0].head
        keep(snapshots, recording.run, head, loaded.state, 0)
        body, chunks = snapshots.get(recording.run) or (b"", [])
        changed = draw.draw(st.one_of(corpus(body), trees(json.loads(body)).map(_json)))
        text = draw.draw(st.one_of(st.just(b"\n".join(chunks)), corpus(b"\n".join(chunks), chunk)))
        snapshots.put(recording.run, changed, 0, text)
        found = await restore(recording.journal, recording.blobs, snapshots, recording.run)
        assert found.state.digest == loaded.state.digest

    declared(lambda: asyncio.run(resume()))


SIGNALS: tuple[dict[str, Any], ...] = (
    {"type": "steer", "text": "Go on.", "by": "a"},
    {"type": "answer", "call": "sha256:" + "0" * 64, "approved": True},
    {"type": "resolve", "call_id": "c", "happened": False},
    {"type": "decide", "plan": "sha256:" + "0" * 64, "decision": "iterate", "reason": "x"},
    {"type": "retry", "spec": "s", "hint": "h"},
    {"type": "cancel", "reason": "x"},
)


@pytest.mark.req("fuzz-stored")
@given(trees(*SIGNALS))
@fuzz(120)
def test_a_signal_is_read_or_is_none(value: Any) -> None:
    signal = signals.read_signal(_json(value))
    if signal is not None:
        assert signals.read_signal(signal.canonical()) == signal


@pytest.mark.req("fuzz-stored")
@given(corpus(*(canonical(signal) for signal in SIGNALS)))
@fuzz(60)
def test_the_bytes_of_a_signal_are_read_or_are_none(body: bytes) -> None:
    signals.read_signal(body)


TREES = (
    b'{"entries":{"a.txt":{"digest":"sha256:%s","size":3,"type":"file"}},"format":1}' % (b"0" * 64),
    b'{"directories":{"d":{"digest":"sha256:%s","files":1,"size":2}},"files":{}}' % (b"1" * 64),
)


@pytest.mark.req("fuzz-stored")
@given(corpus(*TREES))
@fuzz(60)
def test_a_tree_of_a_workspace_is_read_or_refused(data: bytes) -> None:
    digest = digest_of(data)
    declared(load, lambda _: data, digest)
    declared(lambda: list(walk(lambda _: data, digest)))
    declared(lambda: list(diff(lambda _: data, digest, "sha256:" + "0" * 64)))
    declared(read_version, data, "w", 1)


@pytest.mark.req("fuzz-stored")
@given(
    st.sampled_from(["plan", "spec", "phase", "judgement"]),
    trees(
        {"format": "artificer/plan/1", "title": "t", "overview": "o", "specs": [{"name": "a"}]},
        {"verdict": "accept", "criteria": []},
    ),
)
@fuzz(60)
def test_an_artifact_of_a_build_is_read_or_refused(kind: Any, value: Any) -> None:
    declared(build_catalog.read, kind, _json(value))


@pytest.mark.req("fuzz-stored")
@given(st.data())
@fuzz(8)
def test_a_damaged_database_is_opened_or_refused(data: st.DataObject) -> None:
    """Whatever stands in the file of a journal, of snapshots or of workspaces."""

    async def use(folder: Path) -> None:
        config = Config(home=folder, project="p", durability="process")
        storage = await open_storage(config)
        try:
            lease = await storage.journal.acquire("r")
            body = canonical({"run": "r", "seq": 1, "prev": "", "x": "y" * 5_000})
            record = Record("r", 1, digest_of(body), body)
            await storage.journal.append("r", lease.epoch, Head(), [record])
            await storage.signals.post("r", b"{}")
            storage.snapshots.put("r", b"{}", 0, b"x")
            storage.versions.add("w", 1, "sha256:" + "0" * 64)
        finally:
            await storage.aclose()

    async def again(folder: Path) -> None:
        storage = await open_storage(Config(home=folder, project="p", durability="process"))
        try:
            for run in await storage.journal.runs():
                await storage.journal.read(run.run)
                await storage.signals.read(run.run)
                storage.snapshots.get(run.run)
            storage.versions.head("w")
            await storage.journal.acquire("r2")
        finally:
            await storage.aclose()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(use(folder))
        for file in sorted((folder / "p").glob("*.db")):
            file.write_bytes(data.draw(corpus(file.read_bytes())))
        declared(lambda: asyncio.run(again(folder)))


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()

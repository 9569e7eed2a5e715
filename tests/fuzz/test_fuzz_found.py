"""Faults that fuzzing has found, and must not find again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fuzz_kit import bounded
from strict_rules import check_request
from strict_schema import Refused

from artificer.backends.host.searching import matches
from artificer.backends.host.spec import patch
from artificer.config import Config, load_config
from artificer.contracts.arguments.condition import parse_condition
from artificer.contracts.schema import compile_schema
from artificer.core.tombstone import tombstone
from artificer.errors import ConfigError, ManifestError, TamperedError
from artificer.manifests.output_formats import read_json
from artificer.manifests.parse import parse_manifest
from artificer.providers.local_http import HttpError, post_events
from artificer.providers.local_process import Address
from artificer.recordings.recording import Recording, read_recording
from artificer.runtime.builds.scope import present
from artificer.runtime.load import load
from artificer.testing.rig import Rig
from artificer.values.canon import digest_of
from artificer.wiring.storage import open_storage

JOURNALS = Path(__file__).parents[1] / "journals"


@pytest.mark.req("fuzz-models")
def test_a_lone_surrogate_fits_no_schema_and_ends_nothing() -> None:
    schema = compile_schema({"type": "object", "properties": {"a": {"enum": ["x"]}}})
    (problem,) = schema.problems({"a": "\ud800"})
    assert "surrogate" in problem.message and not schema.accepts({"a": "\ud800"})
    assert read_json('{"\\uDC00": ["a\\ud83d\\ude00", "b\\ud800"]}') == {
        "\ufffd": ["a😀", "b\ufffd"]
    }


@pytest.mark.req("fuzz-stored")
def test_events_that_do_not_follow_from_each_other_are_no_journal() -> None:
    """Their hashes are right: whoever writes a file can compute them."""

    async def read() -> None:
        lines = (JOURNALS / "chat-tools.jsonl").read_text("utf-8").splitlines()
        header, *rest = map(json.loads, lines)
        bodies = [json.loads(line["record"]) for line in rest if "record" in line]
        blobs = [line for line in rest if "record" not in line]
        prev, records = "", []
        for seq, body in enumerate([bodies[0], *bodies], 1):  # a run that begins twice
            text = json.dumps({**body, "seq": seq, "prev": prev}, separators=(",", ":"))
            records.append({"record": text})
            prev = digest_of(text.encode())
        file = "".join(
            json.dumps(line, separators=(",", ":")) + "\n" for line in [header, *records, *blobs]
        )
        recording: Recording = await read_recording(file.encode())
        with pytest.raises(TamperedError, match="record 2 does not follow"):
            await load(recording.journal, recording.blobs, recording.run)
        rig = Rig()
        rig.journal, rig.blobs = recording.journal, recording.blobs
        found = await rig.replay(run=recording.run)
        assert found.divergence is not None

    asyncio.run(read())


@pytest.mark.req("fuzz-stored")
@pytest.mark.parametrize("records", ["1e999", "Infinity", "NaN", "[]", "null", '"two"'])
def test_a_tombstone_of_no_number_of_records_is_none(records: str) -> None:
    body = '{"event":{"records":' + records + ',"type":"RunPruned"}}'
    assert tombstone(body.encode()) == 0
    assert tombstone(b'{"event":{"records":2,"type":"RunPruned"}}') == 2
    assert tombstone(b'{"event":{"records":2,"text":"RunPruned","type":"RunPaused"}}') == 0


@pytest.mark.req("fuzz-models")
def test_a_scope_may_name_what_no_file_could_be_called(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert present(tmp_path, ["a", "b" * 300, "c\0", "d/"]) == ["a"]


@pytest.mark.req("fuzz-peers")
@pytest.mark.parametrize(
    "change", [{"tools": None}, {"tools": ["x"]}, {"messages": {"": None}}, {"system": [None]}]
)
def test_the_double_refuses_what_has_no_shape(change: dict[str, object]) -> None:
    body = {"model": "m", "stream": True, "max_tokens": 1, "messages": []}
    with pytest.raises(Refused):
        check_request("messages", {**body, **change})


@pytest.mark.req("fuzz-peers")
@pytest.mark.parametrize(
    ("status", "error"), [(b"200 OK", ValueError), (b"500 Oh", HttpError)], ids=["reply", "error"]
)
def test_an_answer_of_the_local_server_may_be_nested_without_end(
    status: bytes, error: type[Exception]
) -> None:
    async def ask() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            body = b"[" * 20_000 if error is HttpError else b"data: " + b"[" * 20_000 + b"\n\n"
            writer.write(b"HTTP/1.1 " + status + b"\r\n\r\n" + body)
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with post_events(Address("127.0.0.1", port, "k"), "/x", {}) as events:
                _ = [event async for event in events]

    with pytest.raises(error):
        asyncio.run(ask())


@pytest.mark.req("fuzz-models")
def test_numbers_and_depth_without_end_are_refused() -> None:
    with pytest.raises(patch.PatchError):
        patch.parse(f"--- a/x\n+++ b/x\n@@ -{'9' * 5_000} +1 @@\n a\n")
    schema = compile_schema({"type": "object"})
    deep: list[object] = []
    for _ in range(3_000):
        deep = [deep]
    (problem,) = schema.problems(deep)
    assert "deep" in problem.message


@pytest.mark.req("fuzz-authors")
def test_a_host_may_not_name_what_is_no_argument() -> None:
    head = '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n'
    text = f'{head}[http]\nurl = "http://{{0}}/?k={{_secret:k}}"\n'
    with pytest.raises(ManifestError, match="is not an argument"):
        parse_manifest(text, "t.clad.toml")


@pytest.mark.req("fuzz-models")
def test_many_stars_cost_no_more_than_there_are_of_them() -> None:
    with bounded():
        assert not matches(("a",) * 300, ("**",) * 600 + ("x",))
        assert matches(("a",) * 300 + ("x",), ("**",) * 600 + ("x",))
        assert matches(("x",), ("**", "**", "x")) and not matches((), ("**", "x"))


@pytest.mark.req("fuzz-models")
@pytest.mark.parametrize(
    ("file", "first"), [("\n", ""), ("a\n", "a"), ("ba\n", "a"), ("aa\n", "a")]
)
def test_many_lines_that_are_the_same_cost_little(file: str, first: str) -> None:
    count = 160_000
    old = [first, *[file[:-1]] * (count - 1)]
    marked = "".join(f" {line}\n" for line in old)
    (read,) = patch.parse(f"--- a/f\n+++ b/f\n@@ -{9 * count},{count} +1,{count} @@\n{marked}")
    with bounded():
        assert patch.apply(read, file * 2 * count).problems


@pytest.mark.req("fuzz-models")
def test_many_files_cost_little() -> None:
    text = "".join(f"--- /dev/null\n+++ b/{n}\n" for n in range(100_000))
    with bounded(), pytest.raises(patch.PatchError, match="more than 100 files"):
        patch.parse(text)


@pytest.mark.req("fuzz-files")
def test_no_setting_holds_a_nul(tmp_path: Path) -> None:
    (tmp_path / "artificer.toml").write_text('tools = ["a\\u0000b"]\n')
    with pytest.raises(ConfigError, match="NUL"):
        load_config(tmp_path)


@pytest.mark.req("fuzz-authors")
@pytest.mark.parametrize("number", ["9" * 17, "-" + "9" * 40, "9" * 5_000, "9" * 400 + ".5"])
def test_a_condition_compares_no_number_that_json_has_not(number: str) -> None:
    with pytest.raises(ValueError, match="beyond"):
        parse_condition(f"a == {number}")
    assert parse_condition("a == 9007199254740991").holds({"a": 9007199254740991})


@pytest.mark.req("fuzz-stored")
def test_a_damaged_row_is_told_as_damage(tmp_path: Path) -> None:
    config = Config(home=tmp_path, project="p", durability="process")

    async def use() -> None:
        storage = await open_storage(config)
        await storage.journal.acquire("r")
        await storage.aclose()

    async def again() -> None:
        storage = await open_storage(config)
        try:
            await storage.journal.runs()
        finally:
            await storage.aclose()

    asyncio.run(use())
    with closing(sqlite3.connect(tmp_path / "p" / "journal.db", isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        (made,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'runs'").fetchone()
        change = "UPDATE sqlite_schema SET sql = ? WHERE name = 'runs'"
        db.execute(change, (made.replace(" NOT NULL", "").replace("STRICT", ""),))
        db.execute("PRAGMA writable_schema = RESET")
        db.execute("UPDATE runs SET seq = NULL, hash = x'00'")
        db.execute("PRAGMA writable_schema = ON")
        db.execute(change, (made,))
    with pytest.raises(TamperedError, match="damaged"):
        asyncio.run(again())

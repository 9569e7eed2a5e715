"""The audit trail of a world: every decision and effect, and what proves that none is missing."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer

from artificer import Agent, Config, Policy, Rule, ScriptedProvider, World, tool
from artificer.archive import Archive, trail
from artificer.core.signals import AnswerCall, Cancel, FollowUp
from artificer.errors import InvalidValueError, OperatorError
from artificer.ports import Journal, Record
from artificer.providers.scripted import call, reply, say
from artificer.recordings.recording import read_recording
from artificer.runtime.proving.kept import KeptHeads
from artificer.runtime.proving.trail import Trail, line_of
from artificer.testing.rig import SteppingClock
from artificer.values.base import JsonValue
from artificer.values.canon import digest_of
from wrapped_journal import WrappedJournal

pytestmark = pytest.mark.req("audit-trail")

SECRET = "sk-live-51Hq8Zr7Tn3Vb9Kd2"
WORLDS = Path(__file__).parent / "worlds"
TEXT = "The model and its tools said this."
numbers = count()


@tool(effect="once")
async def pay(name: str) -> str:
    """Pay somebody."""
    return TEXT


@tool(effect="pure")
async def look(name: str) -> str:
    """Look at something; the result is long."""
    return TEXT * 200


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    config = Config(home=tmp_path, project="p", durability="process")
    async with World.open(config, clock=SteppingClock(start=1_000_000)) as opened:
        yield opened


async def worked(world: World, reason: str = "I know them.") -> None:
    """Runs with calls that were allowed, denied, asked about, invalid; one that was cancelled."""
    calls = [call("look", name="tea"), call("pay", name="x" * 5_000), call("look", nam="?")]
    script = [reply(*calls), reply(call("pay", name="Bo")), say(TEXT), say(TEXT)]
    policy = Policy(rules=(Rule(tool="pay", decision="ask", reason="it costs"),))
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[pay, look], policy=policy)
    run = await world.run(TEXT, agent, run_id="a")
    for approved in (True, False):
        (question,) = run.questions
        answer = AnswerCall(call=question.digest, approved=approved, by="ada", reason=reason)
        await world.send("a", answer)
        run = await world.resume("a", agent)
    await world.send("a", FollowUp(text=TEXT, by="bo"))
    await world.resume("a", agent)
    other = ScriptedProvider([reply(call("pay", name="Cy"))])
    await world.run(TEXT, replace(agent, model=other), run_id="b")
    await world.send("b", Cancel(by="cy", reason="no longer"))
    await world.resume("b", agent)


async def entries_of(archive: Archive, since: int = 0) -> list[dict[str, Any]]:
    return [entry async for entry in trail(archive, since)]


def of(entries: list[dict[str, Any]], what: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(entry.get(name) for name in names) for entry in entries if entry["what"] == what]


async def proven(archive: Archive, entries: list[dict[str, Any]]) -> None:
    """The last entry proves the lines before it, and goes together with what verify says."""
    *lines, end = entries
    digest = hashlib.sha256("".join(map(line_of, lines)).encode()).hexdigest()
    assert end["what"] == "end" and end["count"] == len(lines)
    assert end["digest"] == f"sha256:{digest}"
    found = await archive.verify(KeptHeads.read(line_of(end)))
    assert [one.relation for one in found.against] == ["same"] and found.sound
    for line in lines:
        record = (await archive._storage.journal.read(line["run"], line["record"] - 1, 1))[0]
        assert record.hash == line["hash"]


def check(entries: list[dict[str, Any]]) -> None:
    assert of(entries, "started", "run", "kind") == [("a", "chat"), ("b", "chat")]
    judged = of(entries, "judged", "tool", "verdict", "reason")
    assert judged[:2] == [("look", "allow", ""), ("pay", "ask", "it costs")]
    assert judged[2][:2] == ("look", "invalid")
    assert of(entries, "approved", "tool", "by", "reason") == [("pay", "ada", "I know them.")]
    assert of(entries, "denied", "tool", "by") == [("pay", "ada")]
    assert of(entries, "began", "tool", "effect") == [("look", "pure"), ("pay", "once")]
    assert of(entries, "returned", "tool", "status") == [("look", "ok"), ("pay", "ok")]
    assert of(entries, "follow-up", "by") == [("bo",)]
    assert of(entries, "cancel", "run", "by", "reason") == [("b", "cy", "no longer")]
    assert of(entries, "finished", "run", "status")[-1] == ("b", "cancelled")
    calls = of(entries, "judged", "call_id", "call")[:2]
    assert sorted(of(entries, "began", "call_id", "call")) == sorted(calls)
    assert sorted(of(entries, "returned", "call_id", "call")) == sorted(calls)
    assert of(entries, "approved", "call_id", "call") == [calls[1]]
    positions = [entry["position"] for entry in entries[:-1]]
    assert positions == sorted(positions)
    assert TEXT not in json.dumps(entries) and "xxx" not in json.dumps(entries)


async def test_every_decision_and_effect_of_all_runs_is_an_entry(world: World) -> None:
    await worked(world)
    entries = await entries_of(world.archive)
    check(entries)
    await proven(world.archive, entries)
    assert await entries_of(world.archive) == entries


@pytest.mark.req("cancel-by")
async def test_a_run_that_is_cancelled_names_who_cancelled_it(world: World) -> None:
    agent = Agent(ScriptedProvider([reply(call("pay", name="Cy"))]), kind="chat", tools=[pay])
    asking = Policy(rules=(Rule(tool="pay", decision="ask"),))
    await world.run(TEXT, replace(agent, policy=asking), run_id="a")
    with pytest.raises(InvalidValueError):
        await world.cancel("a", "x" * 20_000)
    await world.cancel("a", "no longer", by="cy")
    entries = await entries_of(world.archive)
    assert of(entries, "cancel", "run", "by", "reason") == [("a", "cy", "no longer")]
    assert (await world.archive.replay("a")).identical


class Unchanged:
    """Takes nothing out."""

    def clean_value(self, value: JsonValue) -> JsonValue:
        return value


async def test_little_is_held_at_once(world: World) -> None:
    await worked(world)
    storage = world._resources.storage
    small = Trail(storage.journal, storage.blobs, Unchanged(), page=2, remembered=1)
    assert [entry async for entry in small.entries()] == await entries_of(world.archive)


async def test_of_a_time_on_only_what_came_then_but_with_its_tool(world: World) -> None:
    await worked(world)
    *before, _ = await entries_of(world.archive)
    (returned,) = [one for one in before if one["what"] == "returned" and one["tool"] == "pay"]
    *lines, end = await entries_of(world.archive, since=returned["at"])
    assert lines == [one for one in before if one["at"] >= returned["at"]]
    assert returned in lines and len(lines) < len(before)
    assert end["since"] == returned["at"] and end["count"] == len(lines)


async def test_secrets_of_the_environment_are_taken_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worked(world, reason=f"the key is {SECRET}")
    monkeypatch.setenv("ARTIFICER_SECRET_BANK", SECRET)
    text = json.dumps(await entries_of(world.archive))
    assert SECRET not in text and "[secret ARTIFICER_SECRET_BANK]" in text


async def test_pruned_runs_say_who_pruned_them(world: World) -> None:
    await worked(world)
    await world.maintenance.prune("a", by="dee", reason="old")
    entries = await entries_of(world.archive)
    assert of(entries, "pruned", "run", "by", "reason") == [("a", "dee", "old")]
    assert of(entries, "started", "run") == [("b",)]
    assert entries[-1]["count"] == len(entries) - 1


@pytest.mark.parametrize(
    "event", [b'{"type":"ToolReturned","at":5,"intent":[]}', b'{"type":[]}', b'{"type":"Later"}']
)
async def test_a_record_that_cannot_be_read_stops_nothing(world: World, event: bytes) -> None:
    await worked(world)
    journal = world._resources.storage.journal
    lease = await journal.acquire("odd")
    body = b'{"event":%s,"prev":"","run":"odd","seq":1}' % event
    record = Record("odd", 1, digest_of(body), body)
    await journal.append("odd", lease.epoch, lease.head, [record])
    entries = await entries_of(world.archive)
    known = b"Later" not in event  # of a newer release: it is none that this one shows
    assert of(entries, "unreadable", "run", "record") == ([("odd", 1)] if known else [])
    assert entries[-1]["count"] == len(entries) - 1


def test_a_line_holds_no_control_character() -> None:
    assert line_of({"by": "\x7f\u202e\n\x1b"}) == '{"by": "\\u007f\\u202e\\n\\u001b"}\n'


async def test_a_journal_without_an_order_is_refused(world: World) -> None:
    storage = world._resources.storage
    journal: Journal = WrappedJournal(storage.journal)
    with pytest.raises(OperatorError, match="does not keep all its records in order"):
        async for _ in Trail(journal, storage.blobs, Unchanged()).entries():
            pass


async def test_no_recorded_run_is_unreadable_and_none_hides_its_place() -> None:
    """Runs of all kinds and releases: builds, forks, agents as tools, pruned ones."""
    kinds = set()
    for file in sorted((WORLDS.parent / "journals").glob("*.jsonl")):
        recording = await read_recording(file.read_bytes())
        records = {one.hash: one for one in await recording.journal.read(recording.run)}
        found = Trail(recording.journal, recording.blobs, Unchanged())
        *entries, end = [entry async for entry in found.entries()]
        assert end["count"] == len(entries) > 0
        for entry in entries:
            record = records[str(entry["hash"])]
            assert (entry["run"], entry["record"]) == (record.run, record.seq)
            assert isinstance(entry["at"], int)
            assert "tool" in entry or entry["what"] not in ("returned", "approved", "denied")
            kinds.add(entry["what"])
    assert {"build", "job", "forked", "tick", "late", "resolved", "cancel"} <= kinds
    assert "unreadable" not in kinds


async def test_an_empty_world_has_an_end(world: World) -> None:
    (end,) = await entries_of(world.archive)
    assert (end["count"], end["world"]) == (0, {"seq": 0, "hash": ""})


@pytest.mark.req("world-of-an-older-release")
async def test_a_world_of_an_older_release_has_a_trail(tmp_path: Path) -> None:
    with tarfile.open(WORLDS / "0.1.0.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    async with World.open(Config(home=tmp_path, project="p")) as world:
        entries = await entries_of(world.archive)
        assert of(entries, "returned", "tool")
        await proven(world.archive, entries)


@pytest.mark.xdist_group("servers")
@pytest.mark.req("storage-postgres")
async def test_in_postgresql_it_is_the_same(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.url(f"trail_{next(numbers)}")
    config = Config(home=tmp_path, project="p", storage=url)
    async with World.open(config, clock=SteppingClock(start=1_000_000)) as world:
        await worked(world)
    async with Archive.open(config) as archive:
        entries = await entries_of(archive)
        check(entries)
        await proven(archive, entries)

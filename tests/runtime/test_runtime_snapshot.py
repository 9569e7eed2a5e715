"""Snapshots: what is restored from one and its tail is what a full reduction comes to."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from test_runtime_properties import SCRIPTS
from test_runtime_properties import World as Driven

from artificer import Limits, World
from artificer.agent import Agent
from artificer.config import Config
from artificer.core.record import EventLine
from artificer.core.state import RunState
from artificer.errors import NotFoundError, OperatorError, TamperedError
from artificer.ports import Head, Snapshots
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import Loaded, load
from artificer.runtime.snapshot import EVERY, keep, restore
from artificer.storage.memory import MemoryJournal, MemorySnapshots
from artificer.storage.sqlite import SqliteSnapshots
from artificer.testing.rig import Rig
from artificer.values.model import ModelFailure, ModelReply, Usage


async def prefix(rig: Rig, upto: int) -> tuple[Head, RunState]:
    """The head and the state after a run's first records."""
    records = (await rig.journal.read("run"))[:upto]
    part = MemoryJournal()
    lease = await part.acquire("run")
    head = await part.append("run", lease.epoch, Head(), records)
    return head, (await load(part, rig.blobs, "run")).state


def commits(loaded: Loaded) -> list[int]:
    """The records after which nothing of a commit is missing: those before an event from outside.

    A fact of our own follows its intent in the same commit.
    """
    inline = ("CallsJudged", "ReplyChecked", "RunFinished")
    ends = [
        line.seq - 1
        for line in loaded.lines[1:]
        if isinstance(line, EventLine) and line.event.type not in inline
    ]
    return [*ends, loaded.head.seq]


def same(one: Loaded, other: Loaded) -> None:
    assert one.state == other.state
    assert (one.head, one.open) == (other.head, other.open)


@pytest.mark.req("snapshot")
@given(SCRIPTS, st.sampled_from(["chat", "deliver"]), st.booleans(), st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_snapshot_and_its_tail_are_the_whole(
    script: list[ModelReply | ModelFailure], kind: str, counted: bool, data: st.DataObject
) -> None:
    async def go() -> None:
        usage = Usage() if counted else Usage(input_tokens=3, output_tokens=2)
        answers = [a.replace(usage=usage) if isinstance(a, ModelReply) else a for a in script]
        driven = Driven(answers, set())
        await driven.drive(kind)
        rig = driven.rig
        whole = await load(rig.journal, rig.blobs, "run")
        snapshots, before = MemorySnapshots(), 0
        places = data.draw(st.lists(st.sampled_from(commits(whole)), min_size=1, max_size=3))
        for upto in sorted(places):
            head, state = await prefix(rig, upto)
            keep(snapshots, "run", head, state, before)
            before = len(state.history)
        restored = await restore(rig.journal, rig.blobs, snapshots, "run")
        same(restored, whole)
        assert restored.kept or not provable(answers, state)

    asyncio.run(go())


def provable(answers: list[ModelReply | ModelFailure], state: RunState) -> bool:
    """Ambiguous calls are not in the state, and a reply that says nothing leaves no message."""
    silent = any(
        isinstance(a, ModelReply) and all(block.type == "reasoning" for block in a.blocks)
        for a in answers
    )
    statuses = [getattr(block, "status", "") for m in state.history for block in m.blocks]
    return not silent and "ambiguous" not in statuses


async def long_run(rig: Rig, turns: int) -> Loaded:
    async def answer(call: Any) -> str:
        return f"{call.arguments['n']}"

    rig.tools.add("answer", answer)
    script = [reply(call("answer", n=n)) for n in range(turns - 1)]
    await rig.run([*script, say("Done.")], limits=Limits(turns=turns))
    return await load(rig.journal, rig.blobs, "run")


@pytest.mark.req("snapshot")
@pytest.mark.parametrize("said", ['"status":"ambiguous"', '{"a":[{"status":"ambiguous"}]}'])
async def test_a_text_that_speaks_of_doubt_puts_nothing_in_doubt(said: str) -> None:
    rig, snapshots = Rig(), MemorySnapshots()
    await rig.run([reply(call("nothing", said=said)), say(said)], prompt=said)
    whole = await load(rig.journal, rig.blobs, "run")
    keep(snapshots, "run", whole.head, whole.state, 0)
    restored = await restore(rig.journal, rig.blobs, snapshots, "run")
    same(restored, whole)
    assert restored.kept == len(whole.state.history)


class Spy(MemorySnapshots):
    """Counts what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.states = 0
        self.bytes = 0

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        self.states += 1
        self.bytes += len(chunk)
        super().put(run, state, first, chunk)


@pytest.mark.req("snapshot")
class TestTaking:
    async def taken(self, turns: int) -> tuple[Spy, World]:
        world = World.in_memory()
        world._resources.storage.storage.snapshots = spy = Spy()
        script = [reply(call("nothing", n=n)) for n in range(turns - 1)]
        run = await world.run(
            "Go.",
            Agent(
                model=ScriptedProvider([*script, say("Done.")]),
                limits=Limits(turns=turns),
                kind="chat",
            ),
            run_id="long",
        )
        assert run.text == "Done."
        return spy, world

    async def test_now_and_then_at_a_cost_that_is_linear(self) -> None:
        (short, _), (long, world) = await self.taken(260), await self.taken(520)
        records = (await world.archive.verify()).records
        assert records // (2 * EVERY) <= long.states <= records // EVERY
        assert long.bytes < 2.6 * short.bytes, "each message is stored once"

    async def test_a_run_goes_on_from_it(self, caplog: pytest.LogCaptureFixture) -> None:
        _, world = await self.taken(150)
        storage = world._resources.storage
        whole = await load(storage.journal, storage.blobs, "long")
        restored = await restore(storage.journal, storage.blobs, storage.snapshots, "long")
        same(restored, whole)
        assert restored.kept and len(restored.lines) < len(whole.lines) - EVERY // 2
        assert caplog.records == []

    async def test_what_is_short_has_none(self) -> None:
        spy, _ = await self.taken(3)
        assert spy.states == 0


@pytest.mark.req("snapshot-proven")
class TestProof:
    """A snapshot that the journal does not prove is ignored, with a line in the log."""

    async def test_a_run_that_does_not_exist_is_no_fault_of_a_snapshot(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        rig = Rig()
        with pytest.raises(NotFoundError):
            await restore(rig.journal, rig.blobs, MemorySnapshots(), "none")
        assert caplog.records == []

    async def kept(self) -> tuple[Rig, Loaded, MemorySnapshots]:
        rig, snapshots = Rig(), MemorySnapshots()
        whole = await long_run(rig, 12)
        head, state = await prefix(rig, commits(whole)[-3])
        keep(snapshots, "run", head, state, 0)
        assert (await restore(rig.journal, rig.blobs, snapshots, "run")).kept
        return rig, whole, snapshots

    async def refused(
        self, rig: Rig, whole: Loaded, snapshots: Snapshots, caplog: pytest.LogCaptureFixture
    ) -> str:
        caplog.set_level(logging.WARNING, "artificer.run")
        restored = await restore(rig.journal, rig.blobs, snapshots, "run")
        same(restored, whole)
        assert restored.kept == 0 and len(restored.lines) == len(whole.lines)
        (record,) = caplog.records
        return record.getMessage()

    @pytest.mark.parametrize(
        "change",
        [
            {"release": "0.0.1"},
            {"format": 2},
            {"seq": 999},
            {"seq": 3},
            {"hash": "sha256:" + "0" * 64},
            {"messages": 1},
            {"state.turn": 3},
            {"state.usage": {"input_tokens": 1}},
            {"state.last_text": "forged"},
            {"state.history_digest": "sha256:" + "0" * 64},
            {"state.unknown": 1},
        ],
        ids=lambda change: next(iter(change)),
    )
    async def test_a_changed_state(
        self, change: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        rig, whole, snapshots = await self.kept()
        told = json.loads(snapshots._states["run"])
        for name, value in change.items():
            place, _, member = name.rpartition(".")
            (told[place] if place else told)[member] = value
        snapshots._states["run"] = json.dumps(told).encode()
        assert "is not used" in await self.refused(rig, whole, snapshots, caplog)

    @pytest.mark.parametrize(
        "change",
        [
            {"last_text": "forged"},
            {"turn": 3},
            {"usage": {"input_tokens": 1}},
            {"narrative": "forged"},
            {"spec_digest": "sha256:" + "0" * 64},
        ],
        ids=lambda change: next(iter(change)),
    )
    async def test_a_changed_state_at_the_head(
        self, change: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        """No record comes after it whose state would differ: its own digest alone can tell."""
        rig, snapshots = Rig(), MemorySnapshots()
        whole = await long_run(rig, 12)
        keep(snapshots, "run", whole.head, whole.state, 0)
        restored = await restore(rig.journal, rig.blobs, snapshots, "run")
        assert restored.kept and not restored.lines
        told = json.loads(snapshots._states["run"])
        told["state"] |= change
        snapshots._states["run"] = json.dumps(told).encode()
        assert "is not the state" in await self.refused(rig, whole, snapshots, caplog)

    async def test_another_conversation(self, caplog: pytest.LogCaptureFixture) -> None:
        rig, whole, snapshots = await self.kept()
        body = snapshots._chunks["run"][0]
        snapshots._chunks["run"][0] = body.replace(b"Go.", b"No.")
        assert "conversation" in await self.refused(rig, whole, snapshots, caplog)

    async def test_a_journal_that_is_shorter(self, caplog: pytest.LogCaptureFixture) -> None:
        """As a backup that was restored: its snapshot is of a future that never was."""
        rig, whole, snapshots = await self.kept()
        journal = MemoryJournal()
        lease = await journal.acquire("run")
        records = (await rig.journal.read("run"))[: commits(whole)[2]]
        await journal.append("run", lease.epoch, Head(), records)
        shorter = replace(rig, journal=journal)
        found = await load(journal, rig.blobs, "run")
        await self.refused(shorter, found, snapshots, caplog)

    async def test_another_run_of_that_id(self, caplog: pytest.LogCaptureFixture) -> None:
        _, _, snapshots = await self.kept()
        other = Rig()
        other.clock.time += 5
        whole = await long_run(other, 12)
        await self.refused(other, whole, snapshots, caplog)

    async def test_what_cannot_be_read_at_all(self, caplog: pytest.LogCaptureFixture) -> None:
        rig, whole, _ = await self.kept()

        class Broken(MemorySnapshots):
            def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
                raise OperatorError("The disk fails.")

        assert "The disk fails." in await self.refused(rig, whole, Broken(), caplog)

    async def test_a_tampered_tail_is_still_an_error(self) -> None:
        rig, _, snapshots = await self.kept()
        journal = rig.journal
        assert isinstance(journal, MemoryJournal)
        records = journal._by_run["run"]
        records[-1] = structs.replace(
            records[-1], body=records[-1].body.replace(b"completed", b"partial  ")
        )
        with pytest.raises(TamperedError):
            await restore(journal, rig.blobs, snapshots, "run")


@pytest.mark.req("snapshot")
class TestStores:
    @pytest.fixture(params=["memory", "sqlite"])
    def snapshots(self, request: pytest.FixtureRequest, tmp_path: Path) -> Snapshots:
        if request.param == "memory":
            return MemorySnapshots()
        return SqliteSnapshots(tmp_path / "snapshots.db")

    def test_chunks_are_added_and_begun_anew(self, snapshots: Snapshots) -> None:
        assert snapshots.get("a") is None
        snapshots.put("a", b"1", 0, b"x")
        snapshots.put("a", b"2", 1, b"y\nz")
        snapshots.put("a", b"3", 3, b"")
        snapshots.put("b", b"4", 0, b"")
        assert snapshots.get("a") == (b"3", [b"x", b"y\nz"])
        assert snapshots.get("b") == (b"4", [])
        snapshots.put("a", b"5", 0, b"w")
        assert snapshots.get("a") == (b"5", [b"w"])
        snapshots.drop("a")
        assert snapshots.get("a") is None and snapshots.get("b") is not None

    async def test_a_file_that_is_damaged_costs_nothing_but_time(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        config = Config(home=tmp_path, project="p", durability="process")
        (tmp_path / "p").mkdir()
        (tmp_path / "p" / "snapshots.db").write_bytes(b"not a database" * 100)
        script = [*(reply(call("nothing", n=n)) for n in range(149)), say("Done.")]
        async with World.open(config) as world:
            run = await world.run(
                "Go.", Agent(model=ScriptedProvider(script), limits=Limits(turns=150), kind="chat")
            )
            assert run.text == "Done." and (await world.resume(run.id)).text == "Done."
            assert any("snapshot" in record.getMessage() for record in caplog.records)
            assert (await world.archive.replay(run.id)).identical

    def test_a_damaged_file_is_made_again(self, tmp_path: Path) -> None:
        path = tmp_path / "snapshots.db"
        path.write_bytes(b"not a database" * 100)
        snapshots = SqliteSnapshots(path)
        with pytest.raises(OperatorError, match=r"snapshots\.db"):
            snapshots.put("a", b"1", 0, b"x")
        snapshots.put("a", b"2", 0, b"y")
        assert snapshots.get("a") == (b"2", [b"y"])
        snapshots.close()

    async def test_it_is_no_part_of_the_journal(self, tmp_path: Path) -> None:
        config = Config(home=tmp_path, project="p", durability="process")
        script = [*(reply(call("nothing", n=n)) for n in range(149)), say("Done.")]
        async with World.open(config) as world:
            run = await world.run(
                "Go.", Agent(model=ScriptedProvider(script), limits=Limits(turns=150), kind="chat")
            )
            assert world._resources.storage.storage.snapshots.get(run.id) is not None
            assert (await world.archive.verify()).problems == []
            await world.maintenance.prune(run.id)
            assert world._resources.storage.storage.snapshots.get(run.id) is None
        db = sqlite3.connect(tmp_path / "p" / "snapshots.db")
        assert db.execute("SELECT count(*) FROM chunks").fetchone() == (0,)
        db.close()

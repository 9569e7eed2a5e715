"""Searching the runs of a world."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from artificer import Agent, Config, ScriptedProvider, World, tool
from artificer.archive import Archive
from artificer.ports import Indexed, IndexedText, Reached, Storage
from artificer.providers.scripted import call, reply, say
from artificer.runtime.listing.search import Hit, Searcher, text_query
from artificer.storage.memory.search_index import MemorySearchIndex
from wrapped_journal import WrappedJournal


@tool(effect="pure")
async def look(place: str) -> str:
    """Look somewhere."""
    return f"In {place} there is a Lamp."


def config(folder: Path) -> Config:
    return Config(home=folder, project="test")


async def filled(world: World) -> None:
    script = [reply(call("look", place="Bern")), say("x " * 200 + "A lamp."), say("No."), say("!")]
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[look])
    first = await agent.run("What is in Bern?", world=world, run_id="a-1")
    await agent.follow_up(first, "Another lamp?", world=world)
    await agent.run("lamp, please", world=world, run_id="b-2")


async def answered(world: World, prompt: str, run_id: str) -> None:
    await Agent(ScriptedProvider([say("Yes.")]), kind="chat").run(
        prompt, world=world, run_id=run_id
    )


def indexes(folder: Path) -> list[Path]:
    return [*folder.rglob("search.db")]


def damage(index: Path) -> None:
    for log in ("-wal", "-shm"):
        Path(f"{index}{log}").unlink(missing_ok=True)
    index.write_bytes(b"no database")


def named(hits: list[Hit]) -> list[tuple[str, str]]:
    return [(hit.run, hit.role) for hit in hits]


def reached(storage: Storage) -> int:
    assert isinstance(storage, Indexed)
    return storage.search_index.reached().position


LAMPS = [("b-2", "prompt"), ("a-1", "follow-up"), ("a-1", "reply"), ("a-1", "result")]


@pytest.mark.req("archive-search")
async def test_every_text_of_every_run_is_found(tmp_path: Path) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
        hits = await world.archive.search("LAMP")
        assert named(hits) == LAMPS
        assert hits[0].event == "PromptReceived" and hits[0].seq == 1
        snippet, ((begin, end),) = hits[2].snippet, hits[2].marks
        assert snippet.startswith("…x x") and snippet.endswith("A lamp.")
        assert snippet[begin:end] == "lamp"
        assert named(await world.archive.search("bern lamp")) == [("a-1", "result")]
        assert named(await world.archive.search('"a lamp"')) == [
            ("a-1", "reply"),
            ("a-1", "result"),
        ]
        assert named(await world.archive.search("look be*")) == [("a-1", "reply")]
        assert len(await world.archive.search("lamp", limit=1)) == 1
        assert await world.archive.search(" ") == await world.archive.search('%_"*') == []
        assert await world.archive.search("lamp", kind="deliver") == []
        assert await world.archive.search("lamp", since=2**50) == []
        assert named(await world.archive.search("lamp", kind="chat", since=1)) == LAMPS


@pytest.mark.req("search-scan")
async def test_without_an_index_the_records_are_read(tmp_path: Path) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
    async with Archive.open(config(tmp_path)) as archive:
        assert named(await archive.search("lamp", kind="chat")) == LAMPS
        assert await archive.search("lamp", kind="deliver") == []
        journal, blobs = archive._storage.journal, archive._storage.blobs
        found = await Searcher(WrappedJournal(journal), blobs, None, text_query("lamp")).hits(9)
        assert named(found) == LAMPS, "a journal that has no order of its own"
    assert not indexes(tmp_path), "reading makes nothing"


@pytest.mark.req("search-index")
async def test_a_search_indexes_what_is_new_and_reads_the_rest(tmp_path: Path) -> None:
    steps: list[int] = []
    async with World.open(config(tmp_path)) as world:
        await filled(world)
        await world.archive.search("lamp", progress=lambda step, done, total: steps.append(done))
        indexed = reached(world._resources.storage.storage)
        await world.archive.search("lamp", progress=lambda step, done, total: steps.append(done))
        assert len(steps) == 1
        await answered(world, "Green lamp?", "c-3")
        async with Archive.open(config(tmp_path)) as archive:
            assert named(await archive.search("lamp")) == [("c-3", "prompt"), *LAMPS]
            assert reached(archive._storage) == indexed
        async with Archive.open(config(tmp_path), indexing=True) as archive:
            assert named(await archive.search("lamp")) == [("c-3", "prompt"), *LAMPS]
            assert reached(archive._storage) > indexed


@pytest.mark.req("search-index")
async def test_pruning_and_repairing_clear_the_index(tmp_path: Path) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
        await world.archive.search("lamp")
        await world.maintenance.prune("b-2")
        assert reached(world._resources.storage.storage) == 0
        assert named(await world.archive.search("lamp")) == LAMPS[1:]
        check = await world.maintenance.fsck(repair=True)
        assert check.sound and any("index of texts" in done for done in check.repaired)
        assert reached(world._resources.storage.storage) == 0
        assert named(await world.archive.search("lamp")) == LAMPS[1:]


@pytest.mark.req("search-index")
async def test_an_index_is_not_believed(tmp_path: Path) -> None:
    """Of another history, with invented rows, or damaged: the journal says what there is."""
    async with World.open(config(tmp_path / "one")) as world:
        await filled(world)
        await world.archive.search("lamp")
    (index,) = indexes(tmp_path)
    with sqlite3.connect(index) as db:
        db.execute("INSERT INTO words (rowid, body) VALUES (2, 'lamp')")
        db.execute("INSERT INTO texts VALUES (2, 1, 2, 1)")
        db.execute("INSERT INTO words (rowid, body) VALUES (99999, 'lamp')")
        db.execute("INSERT INTO texts VALUES (99999, 1, 999, 1)")
    async with World.open(config(tmp_path / "one")) as world:
        assert named(await world.archive.search("lamp")) == LAMPS
    async with World.open(config(tmp_path / "two")) as world:
        for number in range(9):
            await answered(world, "Other lamp", f"z-{number}")
    other = tmp_path / "two" / index.relative_to(tmp_path / "one")
    shutil.copy(index, other)
    async with Archive.open(config(tmp_path / "two")) as archive:
        assert len(await archive.search("lamp")) == 9, "only read: the index is not used"
    async with World.open(config(tmp_path / "two")) as world:
        assert len(await world.archive.search("lamp")) == 9
        assert await world.archive.search("bern") == []
    damage(other)
    async with World.open(config(tmp_path / "two")) as world:
        assert len(await world.archive.search("lamp")) == 9


class Cleared(MemorySearchIndex):
    """Is cleared by another process just before the second page is added."""

    pending = 1

    def add(self, after: int, texts: Sequence[IndexedText], upto: Reached) -> bool:
        if after and self.pending:
            self.pending = 0
            self.clear()
        return super().add(after, texts, upto)


@pytest.mark.req("search-index")
async def test_what_is_pruned_meanwhile_hides_nothing_else() -> None:
    async with World.in_memory() as world:
        for number in range(150):
            await answered(world, "A lamp", f"r-{number}")
        storage, index = world._resources.storage, Cleared()
        query = text_query("lamp")
        found = await Searcher(storage.journal, storage.blobs, index, query).hits(999)
        assert (len(found), index.pending) == (150, 0)


@pytest.mark.req("search-index")
async def test_a_world_in_memory_is_searched_alike() -> None:
    async with World.in_memory() as world:
        await filled(world)
        assert named(await world.archive.search("lamp")) == LAMPS

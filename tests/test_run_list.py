"""Listing the runs of a world: filters, pages, and an index that is not believed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import preloaded
from artificer import Agent, Config, ScriptedProvider, World, tool
from artificer.archive import Archive
from artificer.core.policy import Policy, Rule
from artificer.errors import OperatorError
from artificer.ports import Reached
from artificer.providers.scripted import call, reply, say
from artificer.runtime.listing.lister import NEAR, RunListing
from artificer.storage.memory.run_index import MemoryRunIndex
from artificer.storage.memory.storage import MemoryStorage

pytestmark = pytest.mark.req("run-list")

ASK = Policy(rules=(Rule(decision="ask", tool="pay", reason="Money moves."),))


@tool
async def pay(euros: int) -> str:
    """Pay somebody."""
    return f"Paid {euros}."


def config(folder: Path) -> Config:
    return Config(home=folder, project="test", durability="process")


async def answered(world: World, prompt: str, run_id: str) -> None:
    agent = Agent(ScriptedProvider([say("Yes.")]), kind="chat")
    await agent.run(prompt, world=world, run_id=run_id)


def payer(*script: object) -> Agent:
    return Agent(ScriptedProvider([*script, say("Paid.")]), kind="chat", tools=[pay], policy=ASK)


async def filled(world: World) -> None:
    """Two runs that are done, and one that waits for a person."""
    await answered(world, "Where is the red Lamp?", "a-1")
    await answered(world, "Another lamp", "b-2")
    await payer(reply(call("pay", euros=9))).run("Pay the lamp.", world=world, run_id="c-3")


def names(page: RunListing) -> list[str]:
    return [run.run for run in page.runs]


async def listed(world: World | Archive, **wanted: object) -> list[str]:
    archive = world if isinstance(world, Archive) else world.archive
    page = await archive.list_runs(**wanted)  # type: ignore[arg-type]
    assert page.searched is None
    return names(page)


def found(folder: Path, name: str) -> list[Path]:
    return [*folder.rglob(name)]


def index_of(folder: Path) -> Path:
    (path,) = found(folder, "runs.db")
    return path


ALL = ["c-3", "b-2", "a-1"]


async def test_a_list_says_how_each_run_stands() -> None:
    async with World.in_memory() as world:
        await filled(world)
        page = await world.archive.list_runs()
        assert names(page) == ALL and page.next is None
        waiting, _, done = page.runs
        assert (done.status, done.kind, done.model) == ("completed", "chat", "scripted/scripted")
        assert (done.turns, done.waiting, done.questions) == (1, False, 0)
        assert done.prompt == "Where is the red Lamp?" and done.changed >= done.at > 0
        assert (waiting.status, waiting.waiting, waiting.questions) == ("waiting", True, 1)
        agent, run = payer(), await world.get("c-3")
        await agent.approve(run, run.questions[0].digest, world=world)
        (paid,) = (await world.archive.list_runs(1)).runs
        assert (paid.status, paid.waiting, paid.turns) == ("completed", False, 2)


async def test_filters_and_pages(tmp_path: Path) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
        assert await listed(world, text='"red lamp"') == ["a-1"]
        assert await listed(world, text="LAM*") == ALL
        assert await listed(world, text="lamp", status="completed") == ["b-2", "a-1"]
        assert await listed(world, waiting=True) == ["c-3"]
        assert await listed(world, model="scripted", kind="chat", since=1, until=2**50) == ALL
        assert await listed(world, model="other") == await listed(world, status="\udcff") == []
        first = await world.archive.list_runs(2)
        assert (names(first), first.next) == (["c-3", "b-2"], "b-2")
        await answered(world, "New", "d-4")
        second = await world.archive.list_runs(2, first.next)
        assert (names(second), second.next) == (["a-1"], None)
        oldest = await world.archive.list_runs(1, "a-1", oldest_first=True)
        assert (names(oldest), oldest.next) == (["b-2"], "b-2")
        assert await listed(world, before="nowhere") == []


async def test_a_run_that_goes_on_is_read_once(tmp_path: Path) -> None:
    """A list in the middle of a run shows it as it stands, and reads the rest of it next time."""
    seen = []

    @tool(effect="pure")
    async def look(n: int) -> str:
        """Look at the list."""
        (run,) = (await world.archive.list_runs()).runs
        seen.append((run.status, run.turns, run.records))
        return "seen"

    async with World.open(config(tmp_path)) as world:
        script = [*(reply(call("look", n=n)) for n in range(3)), say("Done.")]
        agent = Agent(ScriptedProvider(script), kind="chat", tools=[look])
        await agent.run("Look.", world=world)
        (run,) = (await world.archive.list_runs()).runs
    assert [turns for _, turns, _ in seen] == [1, 2, 3] and run.turns == 4
    assert {status for status, _, _ in seen} == {"open"} and run.status == "completed"
    assert sorted(records for _, _, records in seen) == [records for _, _, records in seen]


async def test_an_index_is_not_believed(tmp_path: Path) -> None:
    """Rows that were invented or changed, or are of another history: the journal decides."""
    async with World.open(config(tmp_path / "one")) as world:
        await filled(world)
        await listed(world)
    index = index_of(tmp_path)
    with closing(sqlite3.connect(index)) as db, db:
        columns = "run, above, seq, hash, status, begun, changed, kind, model, agent, parent"
        db.execute(
            f"INSERT INTO runs ({columns}, prompt, waiting, questions) VALUES "
            "('x', '', 1, 'h', 'waiting', 1, 1, 'chat', 'm', '', '', 'invented', 1, 1)"
        )
        db.execute("UPDATE runs SET status = 'failed', prompt = 'forged' WHERE run = 'a-1'")
        db.execute("UPDATE runs SET status = 'completed', waiting = 0 WHERE run = 'c-3'")
        db.execute("UPDATE runs SET hash = 'stale', model = 'forged' WHERE run = 'b-2'")
    async with World.open(config(tmp_path / "one")) as world:
        page = await world.archive.list_runs()
        assert [(run.run, run.status) for run in page.runs] == [
            ("c-3", "waiting"),
            ("b-2", "completed"),
            ("a-1", "completed"),
        ]
        assert not [run for run in page.runs if "forged" in run.prompt + run.model]
        assert await listed(world, status="failed") == []
        check = await world.maintenance.fsck(repair=True)
        assert any("index of runs" in done for done in check.repaired)
        assert await listed(world, waiting=True) == ["c-3"]
    async with World.open(config(tmp_path / "two")) as world:
        for number in range(9):
            await answered(world, "Other lamp", f"z-{number}")
    other = tmp_path / "two" / index.relative_to(tmp_path / "one")
    other.write_bytes(index.read_bytes())
    async with Archive.open(config(tmp_path / "two")) as archive:
        assert len(await listed(archive)) == 9, "only read: the index is not used"
    async with World.open(config(tmp_path / "two")) as world:
        assert len(await listed(world)) == 9
        assert len(await listed(world, text="lamp")) == 9


@pytest.mark.parametrize("harm", ["removed", "damaged", "folder"])
async def test_a_lost_index_is_made_again_or_done_without(tmp_path: Path, harm: str) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
        await listed(world)
    index = index_of(tmp_path)
    index.unlink()
    if harm == "damaged":
        index.write_bytes(b"SQLite format 3\0" + b"\x01" * 5000)
    elif harm == "folder":
        index.mkdir()
    async with World.open(config(tmp_path)) as world:
        assert await listed(world) == ALL
        assert await listed(world, waiting=True) == ["c-3"]
        assert await listed(world, oldest_first=True, limit=2) == ["a-1", "b-2"]
        assert await listed(world, oldest_first=True, before="a-1") == ["b-2", "c-3"]
    assert index.is_file() == (harm != "folder")


async def test_reading_makes_nothing_and_uses_what_is_there(tmp_path: Path) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
    async with Archive.open(config(tmp_path)) as archive:
        assert await listed(archive, status="completed") == ["b-2", "a-1"]
    assert not found(tmp_path, "runs.db")
    async with Archive.open(config(tmp_path), indexing=True) as archive:
        assert await listed(archive, text="lamp") == ALL
    before = index_of(tmp_path).read_bytes()
    async with World.open(config(tmp_path)) as world:
        await answered(world, "Green lamp", "d-4")
    async with Archive.open(config(tmp_path)) as archive:
        assert await listed(archive, text="lamp") == ["d-4", *ALL], "it is behind"
    assert index_of(tmp_path).read_bytes() == before


async def test_pruning_forgets_the_run_and_keeps_its_place(tmp_path: Path) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
        await listed(world)
        await world.maintenance.prune("b-2")
        page = await world.archive.list_runs()
        assert [(run.run, run.prompt) for run in page.runs][1] == ("b-2", "")
        assert names(page) == ALL
        assert await listed(world, text="another") == []
        assert await listed(world, status="pruned") == ["b-2"]
    assert b"Another lamp" not in index_of(tmp_path).read_bytes()


class FullDisk(MemoryRunIndex):
    """Takes the rows of the first page and nothing more."""

    def add(self, after: int, runs: object, upto: Reached) -> bool:
        raise OperatorError("database or disk is full")


async def test_without_room_for_an_index_the_journal_is_read() -> None:
    storage = MemoryStorage()
    async with World.in_memory() as world:
        await filled(world)
        kept = world._resources.storage.storage
        assert isinstance(kept, MemoryStorage)
        kept.run_index = FullDisk()
        assert await listed(world, text="lamp", waiting=True) == ["c-3"]
        assert storage.run_index.reached() == Reached()


@pytest.mark.parametrize("has_index", [True, False])
async def test_a_page_follows_a_run_that_the_list_no_longer_wants(has_index: bool) -> None:
    async with World.in_memory() as world:
        if not has_index:
            world.storage.run_index = FullDisk()  # type: ignore[attr-defined]
        for number in range(4):
            agent = payer(reply(call("pay", euros=number)))
            await agent.run("Pay.", world=world, run_id=f"r-{number}")
        first = await world.archive.list_runs(2, waiting=True, oldest_first=True)
        assert (names(first), first.next) == (["r-0", "r-1"], "r-1")
        await payer().approve("r-1", world=world)
        second = await world.archive.list_runs(2, first.next, waiting=True, oldest_first=True)
        assert (names(second), second.next) == (["r-2", "r-3"], None)


async def test_a_list_does_not_wait_for_an_index_that_is_far_behind() -> None:
    async with World.in_memory() as world:
        await filled(world)
        journal = world._resources.storage.journal
        lister = world._resources.lister
        assert await lister.update(1) == await journal.position()  # type: ignore[attr-defined]
        page = await world.archive.list_runs(at_once=True)
        assert names(page) == ALL and page.searched is None and NEAR > 1
        await world.archive.index_runs()
        assert await lister.update(1) == 0


async def test_processes_that_write_at_the_same_time(tmp_path: Path) -> None:
    """Each lists while the other one runs; in the end, both lists are the same and complete."""
    program = """
import asyncio, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_run_list import answered, config, listed
from artificer import World

async def main(folder, name):
    async with World.open(config(Path(folder))) as world:
        for number in range(12):
            await answered(world, "A lamp", f"{name}-{number:02}")
            await world.archive.list_runs(text="lamp")

asyncio.run(main(sys.argv[1], sys.argv[3]))
"""
    here = str(Path(__file__).parent)
    others = [await preloaded.start("-c", program, str(tmp_path), here, name) for name in "ab"]
    assert [await other.wait() for other in others] == [0, 0]
    async with World.open(config(tmp_path)) as world:
        every = await listed(world, text="lamp", limit=100)
        assert sorted(every) == sorted(
            f"{name}-{number:02}" for name in "ab" for number in range(12)
        )
        assert len(every) == len(set(every)) == 24


async def test_one_damaged_run_hides_no_other(tmp_path: Path) -> None:
    async with World.open(config(tmp_path)) as world:
        await filled(world)
    (journal,) = found(tmp_path, "journal.db")
    with closing(sqlite3.connect(journal)) as db, db:
        db.execute("UPDATE records SET body = x'7b7d' WHERE run = 'b-2' AND seq = 2")
    async with World.open(config(tmp_path)) as world:
        page = await world.archive.list_runs()
        assert names(page) == ALL
        assert await listed(world, waiting=True) == ["c-3"]

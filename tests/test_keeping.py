"""Keeping a world in order: checking it, collecting what nothing refers to, pruning runs."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artificer import OperatorError, World
from artificer.agent import Agent
from artificer.backends.call_folders import call_folder
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.errors import NotFoundError, TamperedError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.storage.blobs.disk import DiskStore
from artificer.values.canon import digest_of
from artificer.values.model import ModelFailure
from artificer.wiring.engines import build_engine
from artificer.wiring.toolbox import ToolBox


@tool(effect="pure")
async def long(n: int) -> str:
    """Something long."""
    return f"{n} " * 30_000


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World.open(Config(home=tmp_path, project="p")) as opened:
        yield opened


async def run(world: World, n: int = 1) -> str:
    items = {"kind": "list", "id": "l", "items": [f"item {n}"]}
    script = [reply(call("long", n=n), call("create_list", list=items)), say("{{artifact:list:l}}")]
    made = await world.run(
        "Go.", Agent(model=ScriptedProvider(script), tools=[long], kind="deliver")
    )
    assert made.status == "completed"
    return made.id


def files(world: World) -> DiskStore:
    assert world._resources.storage.files is not None
    return world._resources.storage.files


def age(world: World, digest: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(files(world)._path(digest), (then, then))


@pytest.mark.req("gc")
class TestCollecting:
    async def test_what_nothing_refers_to_goes_and_nothing_else(self, world: World) -> None:
        kept = await run(world)
        before = set(world._resources.storage.blobs.digests())
        loose = world._resources.storage.blobs.put(b"nobody's")
        assert (await world.maintenance.gc(older_than_s=0, dry_run=True)).files == 1
        assert world._resources.storage.blobs.has(loose)
        collected = await world.maintenance.gc(older_than_s=0)
        assert (collected.files, collected.bytes, collected.kept) == (1, 8, len(before))
        assert set(world._resources.storage.blobs.digests()) == before
        assert (await world.archive.verify()).sound and (await world.archive.replay(kept)).identical

    async def test_what_was_put_lately_stays(self, world: World) -> None:
        fresh, old = (world._resources.storage.blobs.put(data) for data in (b"fresh", b"old"))
        age(world, old, 7_200)
        assert (await world.maintenance.gc()).files == 1
        assert world._resources.storage.blobs.has(fresh) and not world._resources.storage.blobs.has(
            old
        )

    async def test_putting_again_is_putting_now(self, world: World) -> None:
        """Whether this process has put it before, or another one did."""
        loose = world._resources.storage.blobs.put(b"again")
        for store in (world._resources.storage.blobs, DiskStore(files(world)._root)):
            age(world, loose, 7_200)
            store.put(b"again")
            assert (await world.maintenance.gc()).files == 0

    async def test_a_writer_that_comes_between_wins(self, world: World) -> None:
        """It was found to be old; by the time it is moved away somebody has put it again."""
        loose = world._resources.storage.blobs.put(b"wanted after all")
        assert files(world).set_aside(loose, time.time() - 3_600) is None
        assert world._resources.storage.blobs.get(loose) == b"wanted after all"
        aside = files(world).set_aside(loose, time.time() + 1)
        assert aside is not None and not world._resources.storage.blobs.has(loose)
        world._resources.storage.blobs.put(b"wanted after all")
        assert world._resources.storage.blobs.get(loose) == b"wanted after all"

    async def test_what_a_blob_refers_to_stays(self, world: World) -> None:
        leaf = world._resources.storage.blobs.put(b"leaf")
        tree = world._resources.storage.blobs.put(f'{{"leaf":"{leaf}"}}'.encode())
        await world.run(f"See {tree}", Agent(model=ScriptedProvider([say("Yes.")]), kind="chat"))
        assert (await world.maintenance.gc(older_than_s=0)).files == 0
        assert world._resources.storage.blobs.has(leaf)

    async def test_versions_of_workspaces_and_drafts_stay(self, world: World) -> None:
        made = await run(world)
        digests = [world._resources.storage.blobs.put(f"tree {n}".encode()) for n in range(3)]
        assert world._resources.storage.versions.add("docs", 1, digests[0])
        assert world._resources.storage.versions.add("docs", 2, digests[1])
        assert world._resources.storage.versions.add("docs", 1, digests[2], run=made)
        assert (await world.maintenance.gc(older_than_s=0)).files == 0
        assert (await world.maintenance.fsck(repair=True)).orphans == []
        assert all(map(world._resources.storage.blobs.has, digests))

    async def test_what_cannot_be_read_may_refer_to_anything(self, world: World) -> None:
        await run(world)
        loose = world._resources.storage.blobs.put(b"nobody's")
        blob = next(d for d in files(world).digests() if d != loose)
        files(world)._path(blob).write_bytes(b"other")
        with pytest.raises(TamperedError):
            await world.maintenance.gc(older_than_s=0)
        assert world._resources.storage.blobs.has(loose)

    @pytest.mark.req("gc-damaged")
    @pytest.mark.parametrize(
        "lost", ["DELETE FROM runs WHERE number = 1", "DELETE FROM versions WHERE number = 1"]
    )
    async def test_what_a_lost_row_led_to_stays(self, tmp_path: Path, lost: str) -> None:
        config = Config(home=tmp_path, project="p")
        async with World.open(config) as world:
            await run(world)
            for number in (1, 2):
                tree = world._resources.storage.blobs.put(f"tree {number}".encode())
                world._resources.storage.versions.add("docs", number, tree)
        with sqlite3.connect(config.project_folder / "journal.db") as database:
            database.execute(lost)
        database.close()
        async with World.open(config) as world:
            before = set(world._resources.storage.blobs.digests())
            for dry_run in (True, False):
                with pytest.raises(TamperedError, match="What the journal refers to is not known"):
                    await world.maintenance.gc(older_than_s=0, dry_run=dry_run)
            for digest in files(world).digests():
                age(world, digest, 2 * 3600)
            check = await world.maintenance.fsck(repair=True)
            assert check.orphans == [] and not any("aside" in done for done in check.repaired)
            assert set(world._resources.storage.blobs.digests()) == before

    async def test_while_runs_go_on(self, world: World) -> None:
        async def collect() -> None:
            while True:
                await world.maintenance.gc()
                await asyncio.sleep(0)

        collecting = asyncio.ensure_future(collect())
        runs = await asyncio.gather(*(run(world, n) for n in range(6)))
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)
        assert (await world.archive.verify()).problems == []
        for one in runs:
            assert (await world.archive.replay(one)).identical


@pytest.mark.req("upkeep-progress")
async def test_long_work_reports_how_far_it_has_come(world: World) -> None:
    for n in range(3):
        await run(world, n)
    steps: list[tuple[str, int, int]] = []

    def report(step: str, done: int, total: int) -> None:
        steps.append((step, done, total))

    blobs = (await world.archive.verify(progress=report)).blobs
    verified = [("verifying runs", n, 3) for n in (1, 2, 3)]
    assert steps == [*verified, *(("verifying blobs", n, 0) for n in range(1, blobs + 1))]
    searched = [("searching runs", n, 3) for n in (1, 2, 3)]
    steps.clear()
    await world.maintenance.gc(progress=report)
    assert steps == searched
    steps.clear()
    await world.maintenance.fsck(progress=report)
    assert steps[:3] == verified and steps[-3:] == searched


@pytest.mark.req("prune")
class TestPruning:
    async def test_what_was_said_is_gone_and_verify_tells_the_truth(
        self, world: World, tmp_path: Path
    ) -> None:
        secret, kept = await run(world, 7), await run(world, 8)
        head = (await world.archive.verify()).heads[secret]
        before = await world.archive.export_run(kept)
        await world.maintenance.prune(secret, by="me", reason="asked to")
        found = await world.archive.verify()
        assert found.problems == [] and found.heads[secret] != head
        with pytest.raises(NotFoundError, match="deleted by `artificer prune`"):
            await world.get(secret)
        with pytest.raises(NotFoundError):
            await world.maintenance.prune(secret)
        assert [s.status for s in await world.archive.summaries()] == ["pruned", "completed"]
        age_all(world)
        assert (await world.maintenance.gc(older_than_s=0)).small > 0
        assert await world.archive.export_run(kept) == before
        assert (await world.archive.verify()).problems == []
        await world.aclose()
        stored = b"".join(
            p.read_bytes() for p in (tmp_path / "p" / "blobs").rglob("*") if p.is_file()
        )
        assert b"7 7 7" not in stored and b"8 8 8" in stored
        db = sqlite3.connect(tmp_path / "p" / "journal.db")
        bodies = b"".join(body for (body,) in db.execute("SELECT body FROM records"))
        db.close()
        assert b"item 7" not in bodies and b"asked to" in bodies

    async def test_only_what_is_finished(self, world: World) -> None:
        failure = ModelFailure(code="unavailable", message="no")
        stalled = await world.run("a", Agent(model=ScriptedProvider([failure]), kind="chat"))
        with pytest.raises(OperatorError, match="not finished"):
            await world.maintenance.prune(stalled.id)
        assert (await world.get(stalled.id)).status == "stalled"

    async def test_a_result_that_may_still_be_read_is_kept(self, world: World) -> None:
        down = ModelFailure(code="unavailable", message="no")
        item = Agent(model=ScriptedProvider([say("Filed.")]), kind="chat").as_tool("file", "File.")
        script = [reply(call("file", prompt="a")), say("Both."), down]
        clerk = Agent(model=ScriptedProvider(script), kind="chat", tools=[item])
        boss = ScriptedProvider([reply(call("clerk", prompt="a")), down])
        tools = [clerk.as_tool("clerk", "File it.")]
        stalled = await world.run("a", Agent(model=boss, kind="chat", tools=tools))
        below = sorted(s.run for s in await world.archive.summaries() if s.run != stalled.id)
        assert (stalled.status, len(below)) == ("stalled", 2)
        for child in below:
            with pytest.raises(OperatorError, match=f"part of {stalled.id}, which is not") as told:
                await world.maintenance.prune(child)
            assert f"artificer cancel {stalled.id}" in (told.value.hint or "")
        await world.cancel(stalled.id)
        for child in below:
            await world.maintenance.prune(child)

    async def test_a_crash_between_tombstone_and_removal(self, world: World) -> None:
        one = await run(world)
        nobody = ScriptedProvider([])
        engine = build_engine(world._resources, nobody, ToolBox.empty())
        await engine.record_pruning(one, "me", "")
        assert (await world.archive.verify()).problems == []
        assert (await world.archive.replay(one)).identical
        await world.maintenance.prune(one)
        lines = len(await world._resources.storage.journal.read(one, (await head(world, one)) - 1))
        assert lines == 1 and (await world.archive.verify()).problems == []

    async def test_what_is_gone_without_a_tombstone_is_found(
        self, world: World, tmp_path: Path
    ) -> None:
        one, other = await run(world), await run(world)
        await world.maintenance.prune(one)
        db = sqlite3.connect(tmp_path / "p" / "journal.db")
        db.execute("UPDATE records SET body = x'' WHERE run = ? AND seq < 4", (other,))
        db.commit()
        db.close()
        problems = (await world.archive.verify()).problems
        assert any(f"Record 3 of run {other}" in p and "no tombstone" in p for p in problems)
        assert not any(one in problem for problem in problems)
        assert not any("prune" in problem for problem in problems)
        with pytest.raises(TamperedError, match=f"Record 1 of run {other} has lost") as damaged:
            await world.get(other)
        assert "`artificer verify`" in (damaged.value.hint or "")
        with pytest.raises(TamperedError, match="lost its contents"):
            await world.maintenance.gc(older_than_s=0)
        with pytest.raises(NotFoundError, match="deleted by `artificer prune`"):
            await world.get(one)

    async def test_a_changed_tombstone_is_none(self, world: World, tmp_path: Path) -> None:
        one = await run(world)
        await world.maintenance.prune(one)
        db = sqlite3.connect(tmp_path / "p" / "journal.db")
        db.execute(
            "UPDATE records SET body = CAST(body || ' ' AS BLOB) WHERE run = ? AND seq = ?",
            (one, await head(world, one)),
        )
        db.commit()
        db.close()
        with pytest.raises(TamperedError, match="lost its contents"):
            await world.get(one)

    @pytest.mark.req("prune-evidence")
    @pytest.mark.parametrize("name", ["boss", "boss.clerk-1", "Boss_1"])
    async def test_what_its_programs_wrote_goes_too(
        self, world: World, tmp_path: Path, name: str
    ) -> None:
        """A folder of calls has another name where the run's is not one for a folder."""
        agent = Agent(model=ScriptedProvider([say("Yes."), say("Yes.")]), kind="chat")
        root = tmp_path / "p" / "evidence"
        for run_id in (name, f"{name}-2"):
            await world.run("Go.", agent, run_id=run_id)
            (call_folder(root, run_id, "c") / "output.txt").write_text(run_id)
        await world.maintenance.prune(name)
        assert [path.read_text() for path in root.rglob("*.txt")] == [f"{name}-2"]

    async def test_in_memory_too(self) -> None:
        async with World.in_memory() as world:
            one, other = await run(world, 1), await run(world, 2)
            await world.maintenance.prune(one)
            assert (await world.archive.verify()).problems == []
            assert (await world.maintenance.gc(older_than_s=0)).small > 0
            assert (await world.archive.replay(other)).identical


async def head(world: World, run: str) -> int:
    return next(h.head.seq for h in await world._resources.storage.journal.runs() if h.run == run)


def age_all(world: World) -> None:
    for digest in list(files(world).digests()):
        age(world, digest, 10)


@pytest.mark.req("gc", "prune")
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_pruned_and_collected_the_others_are_whole(
    numbers: list[int], data: st.DataObject
) -> None:
    async def go() -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Config(home=Path(folder), project="p", durability="process")
            async with World.open(config) as world:
                runs = [await run(world, n) for n in numbers]
                before = {one: await world.archive.export_run(one) for one in runs}
                gone = {one for one in runs if data.draw(st.booleans())}
                for one in gone:
                    await world.maintenance.prune(one)
                age_all(world)
                await world.maintenance.gc(older_than_s=1)
                assert (await world.archive.verify()).problems == []
                for one in set(runs) - gone:
                    assert await world.archive.export_run(one) == before[one]

    asyncio.run(go())


@pytest.mark.req("fsck")
class TestChecking:
    async def test_orphans_and_leftovers_are_told_and_put_in_order(self, world: World) -> None:
        one = await run(world)
        loose = world._resources.storage.blobs.put(b"nobody's")
        age(world, loose, 7_200)
        unfinished = files(world)._tmp / "tmpabcdefgh"
        unfinished.write_bytes(b"half")
        os.utime(unfinished, (1, 1))
        odd = files(world)._blobs / "notes.txt"
        odd.write_text("x")
        check = await world.maintenance.fsck()
        assert check.sound and check.orphans == [loose]
        assert (check.leftovers, check.foreign) == ([str(unfinished)], [str(odd)])
        assert world._resources.storage.blobs.has(loose) and unfinished.exists()
        assert len((await world.maintenance.fsck(repair=True)).repaired) == 2
        assert odd.read_text() == "x", "a file that we did not make is never removed"
        check = await world.maintenance.fsck()
        assert (check.orphans, check.leftovers) == ([], [])
        aside = files(world)._root / "quarantine" / loose.removeprefix("sha256:")
        assert aside.read_bytes() == b"nobody's", "put aside, not removed"
        assert (await world.archive.replay(one)).identical

    async def test_what_a_writer_may_be_at_is_left_alone(self, world: World) -> None:
        loose = world._resources.storage.blobs.put(b"lately")
        writing = files(world)._tmp / "tmpijklmnop"
        writing.write_bytes(b"half")
        check = await world.maintenance.fsck(repair=True)
        assert (check.orphans, check.leftovers, check.repaired) == ([], [], [])
        assert world._resources.storage.blobs.has(loose) and writing.exists()

    async def test_what_is_wrong_stays_wrong(self, world: World) -> None:
        await run(world)
        blob = next(iter(files(world).digests()))
        files(world)._path(blob).unlink()
        for _ in range(2):
            check = await world.maintenance.fsck(repair=True)
            assert not check.sound
            assert any(blob in problem for problem in check.verification.problems)

    async def test_a_head_that_was_moved(self, world: World, tmp_path: Path) -> None:
        one = await run(world)
        db = sqlite3.connect(tmp_path / "p" / "journal.db")
        db.execute("UPDATE runs SET hash = ?", (digest_of(b"x"),))
        db.commit()
        db.close()
        problems = (await world.maintenance.fsck()).verification.problems
        assert any(one in problem and "head" in problem for problem in problems)

"""Heads that are kept elsewhere tell whether a journal went on from them, or was rewritten."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from artificer import FollowUp, OperatorError, World
from artificer.agent import Agent
from artificer.config import Config
from artificer.ports import Head
from artificer.providers.scripted import ScriptedProvider, say
from artificer.runtime.proving.kept import WORLD, KeptHeads
from artificer.storage.sqlite.anchor import anchor_path

pytestmark = pytest.mark.req("kept-heads")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(home=tmp_path, project="p", durability="process")


@pytest.fixture
async def world(config: Config) -> AsyncIterator[World]:
    async with World.open(config) as opened:
        yield opened


async def finished(world: World, name: str) -> None:
    await world.run("Go.", Agent(model=ScriptedProvider([say("Done.")]), kind="chat"), run_id=name)


async def kept_now(world: World) -> KeptHeads:
    found = await world.archive.verify()
    assert found.world is not None and found.problems == []
    return KeptHeads({**found.heads, WORLD: found.world})


async def relations(world: World, kept: KeptHeads) -> tuple[dict[str, str], list[str]]:
    found = await world.archive.verify(kept)
    return {each.name: each.relation for each in found.against}, found.problems


async def test_what_went_on_extends_and_what_rested_is_the_same(world: World) -> None:
    for name in ("a", "b"):
        await finished(world, name)
    kept = await kept_now(world)
    assert (await relations(world, kept))[0] == {"a": "same", "b": "same", WORLD: "same"}
    await world.send("a", FollowUp(text="More.", by="me"))
    assert (await relations(world, kept))[0] == {"a": "same", "b": "same", WORLD: "extends"}
    await world.resume("a", Agent(model=ScriptedProvider([say("More.")]), kind="chat"))
    await finished(world, "c")
    assert await relations(world, kept) == ({"a": "extends", "b": "same", WORLD: "extends"}, [])


async def test_a_pruned_run_still_extends_its_head(world: World) -> None:
    await finished(world, "a")
    kept = await kept_now(world)
    await world.maintenance.prune("a")
    assert await relations(world, kept) == ({"a": "extends", WORLD: "extends"}, [])


async def test_an_older_copy_is_missing_what_was_kept(config: Config) -> None:
    """It is sound in itself: only the kept head tells that it was cut."""
    async with World.open(config) as world:
        await finished(world, "a")
    folder = config.project_folder
    shutil.copytree(folder, folder.with_name("copy"))
    async with World.open(config) as world:
        await world.send("a", FollowUp(text="More."))
        await world.resume("a", Agent(model=ScriptedProvider([say("More.")]), kind="chat"))
        await finished(world, "b")
        kept = await kept_now(world)
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)
    async with World.open(config) as world:
        assert (await world.archive.verify()).problems == []
        found, problems = await relations(world, kept)
        assert found == {"a": "missing", "b": "missing", WORLD: "missing"}
        assert len(problems) == 3 and any("Run b is gone" in each for each in problems)


async def test_another_history_diverges(config: Config, tmp_path: Path) -> None:
    """The same runs, made again: every chain is whole, and none is the one that was kept."""
    async with World.open(config) as world:
        await finished(world, "a")
        kept = await kept_now(world)
    shutil.rmtree(config.project_folder)
    async with World.open(config) as world:
        await finished(world, "a")
        assert (await world.archive.verify()).problems == []
        found, problems = await relations(world, kept)
        assert found == {"a": "diverged", WORLD: "diverged"} and len(problems) == 2


async def test_a_signal_that_was_taken_back_diverges_nothing_but_the_world(config: Config) -> None:
    """Its note was the last one, what counts it was recomputed, and its anchor is gone."""
    async with World.open(config) as world:
        await finished(world, "a")
        before = await world.archive.verify()
        await world.send("a", FollowUp(text="More."))
        kept = await kept_now(world)
    assert before.world is not None
    db = sqlite3.connect(config.project_folder / "journal.db")
    db.execute("DELETE FROM letters")
    db.execute("DELETE FROM notes WHERE subject = 'signals a'")
    db.execute("UPDATE tip SET position = ?, world = ?", (before.world.seq, before.world.hash))
    db.commit()
    db.close()
    anchor_path(config.project_folder / "journal.db").unlink()
    async with World.open(config) as world:
        assert (await world.archive.verify()).problems == []
        assert (await relations(world, kept))[0] == {"a": "same", WORLD: "missing"}


class TestReading:
    A, B = Head(seq=3, hash="sha256:" + "a" * 64), Head(seq=7, hash="sha256:" + "b" * 64)

    def test_lines_and_json(self) -> None:
        text = f"problem: It is bad.\na  3  {self.A.hash}\n\n(world)  7  {self.B.hash}\n"
        heads = {"a": self.A.to_json()}
        value = json.dumps({"sound": True, "heads": heads, "world": self.B.to_json()})
        kept = KeptHeads({"a": self.A, WORLD: self.B})
        assert KeptHeads.read(text) == KeptHeads.read(value) == kept

    def test_what_older_releases_printed(self) -> None:
        """They named no record: its hash is looked for."""
        kept = KeptHeads({"a": Head(seq=-1, hash=self.A.hash)})
        assert KeptHeads.read(f"a  {self.A.hash}") == kept
        assert KeptHeads.read(json.dumps({"heads": {"a": self.A.hash}})) == kept

    async def test_a_head_without_its_number_is_found(self, world: World) -> None:
        await finished(world, "a")
        (head,) = (await world.archive.verify()).heads.values()
        await world.maintenance.prune("a")
        assert (await relations(world, KeptHeads.read(f"a {head.hash}")))[0] == {"a": "extends"}
        assert (await relations(world, KeptHeads.read(f"a {self.A.hash}")))[0] == {"a": "missing"}

    @pytest.mark.parametrize(
        "text",
        ["", "\n", "{}", "[]", "{", "a b", "a 1 2 sha256:0", '{"heads": [1]}', "a x sha256:"],
    )
    def test_what_is_something_else_is_refused(self, text: str) -> None:
        with pytest.raises(OperatorError):
            KeptHeads.read(text)

"""Checklists of a world: ticking, conflicts, and every place that shows them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from artificer import Agent, World, tool
from artificer.core.signals import FollowUp
from artificer.errors import ConflictError, NotFoundError
from artificer.events import ItemTicked
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import Run

sys.path.insert(0, str(Path(__file__).parent / "journals"))

from ticked_runs import TEXT, checklist

ITEMS = checklist(("a", "Alpha"), ("b", "Beta"))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World.in_memory() as world:
        yield world


async def delivered(world: World) -> Run:
    return await world.run("Go.", Agent(ScriptedProvider([ITEMS, say(TEXT)])))


@pytest.mark.req("ticks-recorded")
async def test_a_tick_of_a_run_that_is_over_is_recorded_at_once(world: World) -> None:
    run = await delivered(world)
    (before,) = await world.checklists.read(run.id)
    done = await world.checklists.tick(run.id, "todo", "a", by="Ada", seen=before)
    assert done.recorded and done.checklist.done == 1 and done.checklist.revision == 1
    after = await world.get(run.id)
    assert (after.status, after.state.turn) == ("completed", run.state.turn)
    ticked = [event for event in after.events if isinstance(event, ItemTicked)]
    assert [(e.item, e.label, e.checked, e.by) for e in ticked] == [("a", "Alpha", True, "Ada")]
    assert (await world.archive.replay(run.id)).identical
    assert (await world.archive.verify()).problems == []


@pytest.mark.req("ticks-recorded")
async def test_the_same_tick_once_more_writes_nothing(world: World) -> None:
    run = await delivered(world)
    (seen,) = await world.checklists.read(run.id)
    await world.checklists.tick(run.id, "todo", "a", seen=seen)
    records = len((await world.archive.history(run.id)).lines)
    again = await world.checklists.tick(run.id, "todo", "a", by="Grace", seen=seen)
    assert again.recorded and again.checklist.revision == 1
    assert len((await world.archive.history(run.id)).lines) == records


@pytest.mark.req("ticks-recorded")
async def test_a_conflict_changes_nothing(world: World) -> None:
    run = await delivered(world)
    (seen,) = await world.checklists.read(run.id)
    await world.checklists.tick(run.id, "todo", "a", by="Ada")
    await world.checklists.tick(run.id, "todo", "a", checked=False, by="Ada")
    records = len((await world.archive.history(run.id)).lines)
    with pytest.raises(ConflictError, match="Ada has changed this item since"):
        await world.checklists.tick(run.id, "todo", "a", by="Grace", seen=seen)
    assert len((await world.archive.history(run.id)).lines) == records
    other = await world.checklists.tick(run.id, "todo", "b", by="Grace", seen=seen)
    assert other.checklist.done == 1


@pytest.mark.req("ticks-recorded")
@pytest.mark.parametrize(("name", "item"), [("other", "a"), ("todo", "x"), ("", ""), ("a", "a")])
async def test_what_is_not_there_is_not_found(world: World, name: str, item: str) -> None:
    run = await delivered(world)
    with pytest.raises(NotFoundError):
        await world.checklists.tick(run.id, name, item)
    with pytest.raises(NotFoundError):
        await world.checklists.tick("nowhere", name, item)


@pytest.mark.req("ticks-recorded")
async def test_many_at_once_all_count(world: World) -> None:
    run = await delivered(world)
    ticks = [world.checklists.tick(run.id, "todo", item, by=item) for item in "abab"]
    await asyncio.gather(*ticks)
    (after,) = await world.checklists.read(run.id)
    assert (after.done, after.revision) == (2, 2)


@pytest.mark.req("ticks-recorded")
async def test_the_executing_process_records_a_tick(world: World) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @tool(effect="pure")
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go.wait()
        return "done"

    model = ScriptedProvider([ITEMS, reply(call("wait")), say(TEXT)])
    running = asyncio.create_task(world.run("Go.", Agent(model, tools=[wait]), run_id="busy"))
    await begun.wait()
    done = await world.checklists.tick("busy", "todo", "a", by="Ada")
    assert done.recorded and done.checklist.done == 1
    go.set()
    run = await running
    assert run.status == "completed" and run.state.turn == 3
    assert (await world.archive.replay("busy")).identical


@pytest.mark.req("ticks-recorded")
async def test_behind_a_follow_up_it_waits_and_says_so(world: World) -> None:
    run = await delivered(world)
    await world.send(run.id, FollowUp(text="More."))
    done = await world.checklists.tick(run.id, "todo", "a")
    assert not done.recorded
    model = ScriptedProvider([say("No more.")])
    again = await world.resume(run.id, Agent(model))
    assert again.status == "completed"
    (after,) = await world.checklists.read(run.id)
    assert after.done == 1


@pytest.mark.req("ticks-shown")
async def test_every_view_shows_the_checklist_as_it_stands(world: World, tmp_path: Path) -> None:
    run = await delivered(world)
    assert "- [ ] Alpha" in run.markdown and "checked" not in run.html.partition("<body")[2]
    await world.checklists.tick(run.id, "todo", "a", by="Ada")
    run = await world.get(run.id)
    assert "- [x] Alpha" in run.markdown and "- [ ] Beta" in run.markdown
    assert "checked" in run.html.partition("<body")[2]
    flags = [item["checked"] for item in run.artifacts["todo"].payload["checklist"]["items"]]  # type: ignore[index, call-overload, union-attr]
    assert flags == [True, False]
    assert run.artifacts["todo"].csv().splitlines()[1:] == ['"Alpha","true"', '"Beta","false"']
    views = run.save(tmp_path)
    rows, made = views.artifacts
    assert rows.read_text().splitlines()[1:] == ['"Alpha","true"', '"Beta","false"']
    assert json.loads(made.read_text())["checklist"]["items"][0]["checked"] is True
    exported = json.loads(run.export("json")["report"])
    assert '"checked": true' in json.dumps(exported)

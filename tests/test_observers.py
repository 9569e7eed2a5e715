"""Observers are told when this process no longer executes a run, whatever it did with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from artificer import Agent, Config, ScriptedProvider, World
from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunState
from artificer.providers.scripted import call, reply, say
from artificer.runtime.watching.observe import Observer
from artificer.runtime.watching.relay import Relay
from artificer.values.model import ModelFailure
from artificer.world import observe

pytestmark = pytest.mark.req("observer-idle")

TODO = {"kind": "checklist", "id": "todo", "items": [{"id": "a", "label": "Alpha"}]}


class Ears(Observer):
    """Knows the runs that are executed here, and what was recorded meanwhile."""

    def __init__(self) -> None:
        self.runs = set[str]()
        self.heard: list[str] = []

    def resumed(self, run: str, state: RunState) -> None:
        self.runs.add(run)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        self.runs.add(run)
        if isinstance(line, EventLine):
            self.heard.append(line.event.type)

    def idle(self, run: str) -> None:
        self.runs.remove(run)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    down = ModelFailure(code="unavailable", message="Later.")
    made = reply(call("create_checklist", checklist=TODO)), say("{{artifact:checklist:todo}}")
    scripted = ScriptedProvider([*made, down])
    async with World.open(Config(home=tmp_path), providers=[scripted]) as world:
        yield world


@pytest.fixture
def ears(world: World) -> Ears:
    ears = Ears()
    observe(world, ears)
    return ears


def relayed(world: World) -> set[str]:
    """The runs whose readers in other processes are sent anything."""
    observers = world._resources.observer._all  # type: ignore[attr-defined]
    (relay,) = [one for one in observers if isinstance(one, Relay)]
    return set(relay._runs)


async def test_what_is_written_without_a_loop_ends_too(world: World, ears: Ears) -> None:
    agent = Agent("scripted/m")

    async def heard(*events: str) -> None:
        assert set(events) <= set(ears.heard)
        assert (ears.runs, relayed(world)) == (set(), set())
        ears.heard.clear()

    run = await world.run("Make a list.", agent)
    await heard("PromptReceived", "RunFinished")
    assert (await world.checklists.tick(run.id, "todo", "a")).recorded
    await heard("ChecklistTicked")
    await world.maintenance.prune(run.id)
    await heard("RunPruned")
    await world.submit("Wait.", agent)
    await heard("PromptReceived")
    stalled = await world.run("Fail.", agent)
    await heard("PromptReceived")
    assert (await world.cancel(stalled.id)).status == "cancelled"
    await heard("CancelRequested", "RunFinished")

"""A project's spending limits, for programs: several worlds, one budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer.agent import Agent
from artificer.config import Config
from artificer.core.spec import Limits
from artificer.errors import ConfigError
from artificer.ports import Amount
from artificer.providers.scripted import ScriptedProvider, say
from artificer.world import World

pytestmark = pytest.mark.req("budget-world")

PRICES = {"scripted/scripted": {"input": 1_000, "output": 1_000}}


def at(folder: Path, **budget: float) -> Config:
    settings = {"home": folder, "project": "p", "durability": "process", "prices": PRICES}
    return Config.from_json({**settings, "budget": budget})


async def test_two_worlds_of_one_project_share_its_day(tmp_path: Path) -> None:
    config = at(tmp_path, per_day_tokens=6_000)
    async with World.open(config) as one, World.open(config) as other:
        small = Limits(max_tokens=100)
        done = await one.run(
            "Hi.", Agent(model=ScriptedProvider([say("Hi.")]), limits=small, kind="chat")
        )
        assert done.status == "completed"
        assert (await other.archive.budget()).spent.settled == Amount(15, 15_000)
        dear = ScriptedProvider([say("No.")])
        refused = await other.run(
            "Hi.", Agent(model=dear, limits=Limits(max_tokens=5_990), kind="chat")
        )
        assert (refused.status, refused.failure) == ("stalled", "budget")
        assert (await one.archive.budget()).spent.settled == Amount(15, 15_000)
        assert (await other.run("Hi.", Agent(model=dear, limits=small, kind="chat"))).text == "No."


async def test_another_project_has_its_own_day(tmp_path: Path) -> None:
    for name in ("p", "q"):
        config = at(tmp_path, per_day_tokens=6_000).replace(project=name)
        async with World.open(config) as world:
            assert (await world.archive.budget()).spent.settled == Amount()
            await world.run("Hi.", Agent(model=ScriptedProvider([say("Hi.")]), kind="chat"))


async def test_a_run_takes_the_limits_of_the_project_unless_it_is_told_others(
    tmp_path: Path,
) -> None:
    config = at(tmp_path, per_run_tokens=9_000, per_run_dollars=2)
    async with World.open(config) as world:
        plain = await world.run("Hi.", Agent(model=ScriptedProvider([say("Hi.")]), kind="chat"))
        told = Limits(total_tokens=50_000)
        other = await world.run(
            "Hi.", Agent(model=ScriptedProvider([say("Hi.")]), limits=told, kind="chat")
        )
    given = [run.state.run_spec.limits for run in (plain, other)]
    assert [limits.total_tokens for limits in given] == [9_000, 50_000]
    assert [limits.cost_micros for limits in given] == [2_000_000, 2_000_000]
    assert [limits.waiting_counts for limits in given] == [False, False]


async def test_limits_that_are_changed_leave_the_others_to_the_project(tmp_path: Path) -> None:
    model, few = ScriptedProvider([say("Hi.")]), Limits(repairs=1)
    agent = Agent(model=model, limits=few.replace(turns=3), kind="chat")
    async with World.open(at(tmp_path, per_run_tokens=9_000)) as world:
        limits = (await world.run("Hi.", agent)).state.run_spec.limits
    assert (limits.repairs, limits.turns, limits.total_tokens) == (1, 3, 9_000)
    assert not limits.waiting_counts


async def test_dollars_need_a_price_before_a_run_begins() -> None:
    config = Config.from_json({"budget": {"per_run_dollars": 1}})
    async with World.in_memory(config) as world:
        with pytest.raises(ConfigError, match="price of 'scripted/scripted' is not known"):
            await world.run("Hi.", Agent(model=ScriptedProvider([say("Hi.")]), kind="chat"))
        assert await world.archive.runs() == []

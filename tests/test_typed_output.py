"""The type of a run's output is known to a type checker: ``make types`` checks these tests."""

from __future__ import annotations

from typing import Any, assert_type

import pytest
from pydantic import BaseModel

import artificer
from artificer import Agent
from artificer.providers.scripted import ScriptedProvider


class Trip(BaseModel):
    city: str
    days: int


def planned(city: str, days: int) -> Trip:
    """Plan a trip."""
    return Trip(city=city, days=days)


def script() -> ScriptedProvider:
    return ScriptedProvider(['{"city": "Bern", "days": 2}'])


@pytest.mark.req("output-typed")
class TestShortest:
    def test_a_type_as_the_output(self) -> None:
        run = artificer.run("Plan a trip.", model=script(), output=Trip)
        assert assert_type(run.output, Trip).days == 2

    def test_a_function_as_the_output(self) -> None:
        run = artificer.run("Plan a trip.", model=script(), output=planned)
        assert assert_type(run.output, Trip).city == "Bern"

    def test_the_output_of_an_agent(self) -> None:
        agent = Agent(output=Trip)
        run = artificer.run("Plan a trip.", agent, model=script())
        assert assert_type(run.output, Trip).city == "Bern"

    def test_without_one_it_is_anything(self) -> None:
        run = artificer.run("Plan.", model=ScriptedProvider(["Done."]), kind="chat")
        assert_type(run.output, Any)
        assert run.text == "Done."


@pytest.mark.req("output-typed")
async def test_the_output_of_an_agent_in_a_world() -> None:
    async with artificer.World.in_memory() as world:
        run = await world.run("Plan a trip.", Agent(model=script(), output=Trip))
        assert assert_type(run.output, Trip).days == 2

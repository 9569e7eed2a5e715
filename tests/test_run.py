"""A run as a program reads it: cost, messages, artifacts, events, and the card of a notebook."""

from __future__ import annotations

import gc
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from artificer import Agent, AnswerCall, Config, Policy, Rule, ScriptedProvider, World
from artificer.events import ArtifactCreated, CallFinished, ModelReplied, RunStarted
from artificer.money import PriceConfig
from artificer.providers.scripted import call, reply, say
from artificer.types import Message, RunArtifact
from artificer.values.model import ModelFailure

CHART = call(
    "create_bar_chart",
    id="sales",
    title="Sales",
    labels=["Q1", "Q2"],
    series=[{"name": "Sold", "values": [1, 2]}],
)
SAY = say("<script>alert(1)</script> {{artifact:chart:sales}}")


def agent() -> Agent:
    return Agent(ScriptedProvider([reply(CHART), SAY]))


@pytest.mark.req("run-parts")
async def test_everything_of_a_run_is_readable_when_its_world_is_closed(tmp_path: Path) -> None:
    prices = {"scripted/scripted": PriceConfig(input=Decimal(3), output=Decimal(15))}
    async with World.open(Config(home=tmp_path, prices=prices)) as world:
        made = await agent().run("Draw.", world=world)
        read = await world.get(made.id)
    for run in (made, read):
        dollars = (3 * run.usage.input_tokens + 15 * run.usage.output_tokens) / Decimal(10**6)
        assert run.cost == dollars > 0
        assert [message.role for message in run.messages] == ["user", "assistant"] * 2
        assert all(isinstance(message, Message) for message in run.messages)
        kinds = [type(event) for event in run.events]
        assert kinds[0] is RunStarted and kinds.count(ModelReplied) == 2
        assert CallFinished in kinds and ArtifactCreated in kinds


@pytest.mark.req("run-parts")
@pytest.mark.parametrize("in_memory", [False, True])
async def test_a_run_that_waits_keeps_no_records_and_has_its_events_later(
    tmp_path: Path, in_memory: bool
) -> None:
    """They are those up to where it stood, also when the run has gone on."""
    opened = World.in_memory() if in_memory else World.open(Config(home=tmp_path))
    asking = Policy(rules=(Rule(tool="create_bar_chart", decision="ask"),))
    model = ScriptedProvider([reply(CHART), SAY])
    async with opened as world:
        waiting = await Agent(model, policy=asking).run("Draw.", world=world)
        (question,) = waiting.questions
        before = [type(event) for event in waiting.events]
        await world.send(waiting.id, AnswerCall(call=question.digest, approved=True))
        ended = await world.resume(waiting.id, Agent(model, policy=asking))
        assert waiting.status == "waiting" and ended.status == "completed"
        assert [type(event) for event in waiting.events] == before
        assert CallFinished not in before and CallFinished in [type(e) for e in ended.events]
    (read_upto,) = [of for of in gc.get_referents(waiting) if isinstance(of, partial)]
    assert not any(isinstance(of, list) for of in read_upto.args), "it holds the records"


@pytest.mark.req("run-parts")
async def test_an_artifact_has_its_payload_and_its_rows() -> None:
    async with World.in_memory() as world:
        run = await agent().run("Draw.", world=world)
        assert run.cost is None, "the price is not known"
    chart = run.artifacts["sales"]
    assert isinstance(chart, RunArtifact)
    assert (chart.kind, chart.id, chart.title) == ("chart", "sales", "Sales")
    assert chart.payload["id"] == "sales"
    assert [row["Sold"] for row in chart.rows] == [1, 2]


@pytest.mark.req("run-card")
async def test_the_card_is_sandboxed_and_escaped() -> None:
    async with World.in_memory() as world:
        run = await agent().run("Draw.", world=world)
        card = run._repr_html_()
        assert 'sandbox=""' in card and "<script" not in card and "<html" not in card
        assert "&lt;svg" in card, "the chart as in the page"
        down = ScriptedProvider([ModelFailure(code="unavailable", message="down")])
        stalled = (await Agent(down).run("Hi.", world=world))._repr_html_()
        assert "stalled" in stalled and "<iframe" not in stalled

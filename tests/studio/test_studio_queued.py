"""A submitted run says that it waits for a worker, until one has begun it."""

from __future__ import annotations

import re

import pytest
from studio_kit import http_client, serving

from artificer.agent import Agent
from artificer.providers.scripted import ScriptedProvider, say
from artificer.values.model import ModelFailure
from artificer.world import World

pytestmark = pytest.mark.req("queued-shown")

GONE = ModelFailure(code="unavailable", message="gone", attempts=1)


def badges(page: str) -> list[str]:
    return re.findall(r'<span class="badge [a-z]+">([^<]*)</span>', page)


async def test_lists_pages_and_explanations_say_so() -> None:
    agent = Agent(ScriptedProvider([say("Hello.")]), kind="chat")
    async with World.in_memory() as world, serving(world) as studio:
        run = await world.submit("Hello.", agent)
        (listed,) = (await world.archive.list_runs(10)).runs
        (summary,) = await world.archive.summaries(10)
        assert (listed.queued, listed.status) == (summary.queued, summary.status) == (True, "open")
        assert "waits for a worker" in (await world.archive.explain(run)).why
        async with http_client(studio.url) as client:
            await client.get("/", params={"key": studio.key})
            for path in ("/", "/runs", f"/runs/{run}"):
                assert "waits for a worker" in badges((await client.get(path)).text), path
            assert "Waits for a worker" in (await client.get(f"/runs/{run}")).text
            await world.resume(run, agent)
            for path in ("/", "/runs", f"/runs/{run}"):
                assert "waits for a worker" not in badges((await client.get(path)).text), path
        (listed,) = (await world.archive.list_runs(10)).runs
        assert not listed.queued


async def test_a_run_that_a_worker_has_begun_is_not_queued_and_one_of_this_process_never_is() -> (
    None
):
    agent = Agent(ScriptedProvider([GONE, GONE]), kind="chat")
    async with World.in_memory() as world:
        begun = await world.submit("Hello.", agent)
        await world.resume(begun, agent)
        await world.run("Hello.", agent)
        assert [run.queued for run in (await world.archive.list_runs(10)).runs] == [False, False]
        assert [run.queued for run in await world.archive.summaries(10)] == [False, False]
        assert not (await world.archive.explain(begun)).queued

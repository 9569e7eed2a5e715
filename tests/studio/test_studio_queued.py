"""A submitted run says that it waits for a worker, until one has begun it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from studio_kit import http_client, serving

from artificer import Agent, Policy, Rule, World, tool
from artificer.config import Config
from artificer.dispatch.segments import Segments
from artificer.ownership.job_leases import FILE
from artificer.ports import AwaitsRuns
from artificer.providers.scripted import ScriptedProvider, ScriptedReply, call, reply, say
from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.queue import JobQueue
from artificer.studio.words import stamp
from artificer.values.model import ModelFailure

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


def of(*replies: ScriptedReply, **fields: Any) -> Agent:
    return Agent(ScriptedProvider(list(replies)), kind="chat", **fields)


@pytest.mark.req("submitted-explained")
async def test_who_goes_on_with_a_submitted_run_and_when() -> None:
    agent = of(ModelFailure(code="overloaded", message="no seats", attempts=1))
    async with World.in_memory() as world, serving(world) as studio:
        run = await world.submit("Hello.", agent, name="sales:agent")
        explained = await world.archive.explain(run)
        assert explained.why == (
            "It was submitted, and waits for a worker. If none is running, start one."
        )
        then = ("artificer worker --agent sales:agent", f"artificer cancel {run}")
        assert explained.next == then
        await world.resume(run, agent)
        explained = await world.archive.explain(run)
        ended = (await world.get(run)).state.now
        assert explained.retry_at == ended + 15_000
        at = stamp(explained.retry_at).partition(", ")[2]
        assert "The model could not be reached: overloaded: no seats. A worker" in explained.why
        assert f"{at}. If none is running, start one." in explained.why
        assert explained.next == then
        async with http_client(studio.url) as client:
            await client.get("/", params={"key": studio.key})
            page = (await client.get(f"/runs/{run}")).text
        assert "A worker will try again after <time" in page
        assert at in page
        assert "Resume the run" not in page


@pytest.mark.req("submitted-explained")
async def test_workers_leave_some_runs_to_a_person() -> None:
    """One whose model refuses, and one that comes from another world."""
    async with World.in_memory() as world, World.in_memory() as other:
        refusing = of(ModelFailure(code="auth", message="no", attempts=1))
        refused = await world.submit("Hello.", refusing)
        await world.resume(refused, refusing)
        queued = await world.submit("Hello.", of(say("Hi.")))
        imported = await other.import_run(await world.archive.export_run(queued))
        for archive, run in ((world.archive, refused), (other.archive, imported)):
            explained = await archive.explain(run)
            assert explained.next[0] == f"artificer resume {run}"
            assert explained.retry_at is None
            assert not explained.queued
        assert (await world.archive.explain(refused)).why.endswith(
            "Workers leave it alone until a person resumes it."
        )


@pytest.mark.req("submitted-explained")
async def test_an_answer_is_all_that_a_waiting_run_needs_of_a_person() -> None:
    @tool(effect="once")
    def book() -> str:
        """Book it."""
        return "booked"

    rules = Policy(rules=(Rule(decision="ask", tool="book"),))
    agent = of(reply(call("book")), say("Done."), tools=[book], policy=rules)
    async with World.in_memory() as world:
        run = await world.submit("Book it.", agent)
        await world.resume(run, agent)
        explained = await world.archive.explain(run)
        assert explained.why.startswith("It waits for a person to answer. A worker continues it")
        assert explained.next[:2] == (f"artificer approve {run} --list", "artificer worker")


async def nothing(run: str) -> None:
    """Wake no caller."""


@pytest.mark.req("abandoned-explained")
async def test_the_page_of_a_run_that_workers_leave_alone_says_so(tmp_path: Path) -> None:
    """In the words of its explanation; so does that of a run that waits for it."""
    child = of(say("Hi."))
    agent = of(reply(call("ask", prompt="Hello.")), tools=[child.as_tool("ask", "Asks.")])
    async with World.open(Config(home=tmp_path, project="p")) as world:
        top = await world.submit("Go.", agent, name="a:boss")
        awaits = await Segments(world, {"a:boss": agent}, nothing).execute(top, "submitted")
        assert isinstance(awaits, AwaitsRuns)
        (dead,) = awaits.runs
        file = JobFile(world.config.project_folder / FILE)
        queue = JobQueue(file, world.clock.now)
        queue.submit(dead, attempts=1)
        row = queue.lease("someone", "w", "r", 60)
        assert row is not None and queue.end(row, "queued", "", failed="No disk.").state == "dead"
        file.close()
        async with serving(world) as studio, http_client(studio.url) as client:
            await client.get("/", params={"key": studio.key})
            page = (await client.get(f"/runs/{dead}")).text
            assert (await world.archive.explain(dead)).why in page
            assert "Waits for" not in page
            assert "waits for a worker" not in badges(page)
            page = (await client.get(f"/runs/{top}")).text
            sentence = f"Workers leave {dead} alone: a person has to see to that first."
            assert sentence in (await world.archive.explain(top)).why
            assert sentence in page
            assert f'Waits for <a href="/runs/{dead}">' in page
            await world.cancel(dead)
            for run in (dead, top):
                assert "Workers leave" not in (await client.get(f"/runs/{run}")).text

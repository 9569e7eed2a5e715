"""Signals that come while a worker parks its job, or after it has looked for the last time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from test_studio_decisions import ASKS, pay, waiting
from test_studio_job_lanes import WORKER, lease, leased

from artificer.agent import Agent
from artificer.core.signals import AnswerCall
from artificer.dispatch.agents import NO_AGENTS
from artificer.providers.scripted import ScriptedProvider, call, reply
from artificer.studio.executions import Executions
from artificer.studio.jobs.exchange import JobEnding
from artificer.studio.jobs.rows import JobRow
from artificer.studio.jobs.service import Jobs
from artificer.world import World

pytestmark = pytest.mark.req("http-worker-late-signals")


@pytest_asyncio.fixture
async def jobs() -> AsyncIterator[Jobs]:
    async with World.in_memory() as world:
        found = Jobs(world)
        yield found
        await found.aclose()


class Answered(Jobs):
    """Jobs whose run is answered after it was released, and before its lease has ended."""

    async def give_up(self, row: JobRow) -> None:
        await super().give_up(row)
        await answer(self, row.run)


async def answer(jobs: Jobs, run: str) -> None:
    """Answer the question of a run, as a person does in the studio."""
    (question,) = (await jobs.world.get(run)).questions
    await jobs.world.send(question.run, AnswerCall(call=question.digest, approved=True))
    executions = Executions(jobs.world, NO_AGENTS, jobs.wake)
    await executions.resume(question.run)
    assert not executions.executes(run), "a worker has it"


async def parked(jobs: Jobs, row: JobRow) -> str:
    """Say that a leased run waits; return the state of its job then."""
    await jobs.end(WORKER, row.run, row.attempt, row.fence, JobEnding("parked"))
    return jobs.queue.get(row.run).state


async def test_an_answer_that_comes_while_a_job_is_parked_is_taken() -> None:
    async with World.in_memory() as world:
        jobs = Answered(world)
        await waiting(world)
        await jobs.submit("r", 3, 5)
        assert await parked(jobs, await leased(jobs)) == "queued"
        assert (await leased(jobs)).run == "r"
        await jobs.aclose()


async def test_an_answer_to_a_part_of_a_run_that_its_worker_has_not_seen_is_taken(
    jobs: Jobs,
) -> None:
    """The run below is no job: it continues with its caller."""
    asks = ScriptedProvider([reply(call("pay", to="Bob"))])
    child = Agent(asks, kind="chat", tools=[pay], policy=ASKS)
    model = ScriptedProvider([reply(call("shop", prompt="Go."))])
    boss = Agent(model, kind="chat", tools=[child.as_tool("shop", "Buys.")])
    await jobs.world.run("Go.", boss, run_id="r")
    await jobs.submit("r", 3, 5)
    row = await leased(jobs)
    await answer(jobs, "r")
    assert await parked(jobs, row) == "queued"
    assert await parked(jobs, await leased(jobs)) == "parked", "nobody has woken it again"


async def test_a_job_that_was_woken_and_has_taken_all_stays_parked(jobs: Jobs) -> None:
    await waiting(jobs.world)
    await jobs.submit("r", 3, 5)
    row = await leased(jobs)
    assert jobs.wake("r")
    assert await parked(jobs, row) == "parked"
    assert await lease(jobs) is None

"""The runs that a studio executes: what reaches one that is about to end is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from test_studio_decisions import ASKS, pay, waiting

from artificer.agent import Agent
from artificer.core.signals import AnswerCall
from artificer.dispatch.agents import NO_AGENTS
from artificer.errors import OperatorError
from artificer.providers.scripted import ScriptedProvider, say
from artificer.studio.executions import Executions
from artificer.world import World

pytestmark = pytest.mark.req("studio-late-signals")


def task_of(run: str) -> asyncio.Task[None]:
    """The execution of a run."""
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == f"studio {run}")
    return task


class Ending:
    """An execution of a run that takes no more signals, and ends when it is let."""

    def __init__(self, executions: Executions, run: str) -> None:
        self.let = asyncio.Event()
        self.continued = 0
        self._executions, self._run = executions, run
        executions.start(run, self.let.wait)

    async def ended(self, work: Callable[[], Awaitable[object]]) -> None:
        """Want it to be continued, and let it end."""

        async def counted() -> None:
            self.continued += 1
            await work()

        self._executions.start(self._run, counted)
        task = task_of(self._run)
        self.let.set()
        await task


async def test_an_answer_that_comes_while_an_execution_ends_is_taken() -> None:
    async with World.in_memory() as world:
        await waiting(world)
        executions = Executions(world, NO_AGENTS)
        agent = Agent(ScriptedProvider([say("Paid.")]), kind="chat", tools=[pay], policy=ASKS)
        ending = Ending(executions, "r")
        (question,) = (await world.get("r")).questions
        await world.send("r", AnswerCall(by="Ada", call=question.digest, approved=True))
        await ending.ended(lambda: world.resume("r", agent))
        assert ending.continued == 1
        assert (await world.get("r")).text == "Paid."


async def test_a_run_that_has_taken_all_is_not_continued() -> None:
    async with World.in_memory() as world:
        await waiting(world)
        executions = Executions(world, NO_AGENTS)
        ending = Ending(executions, "r")
        await ending.ended(lambda: world.resume("r"))
        assert ending.continued == 0
        assert (await world.get("r")).status == "waiting"
        assert not await world.archive.has_signals("r")


@pytest.mark.req("studio-problems")
async def test_the_problems_of_the_latest_runs_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail() -> None:
        raise OperatorError("It fails.", hint="Look.")

    monkeypatch.setattr("artificer.studio.executions.MAX_PROBLEMS", 2)
    async with World.in_memory() as world:
        executions = Executions(world, NO_AGENTS)
        for run in ("a", "b", "a", "c"):
            executions.start(run, fail)
            await task_of(run)
        problems = {run: executions.problem(run, over=True) for run in "abc"}
        assert problems == {"a": "It fails. Look.", "b": "", "c": "It fails. Look."}

"""Runs whose tools are commands of a session: the same gate, journal, replay and resumption."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tools_support import appears

from artificer.agent import Agent
from artificer.backends.process.tree import read_process
from artificer.core.events import ToolReturned
from artificer.core.policy import Policy, Rule
from artificer.ports import Answer, Question
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import History
from artificer.world import World

MANIFEST = f"""
[tool]
name = "py"
version = "1"
description = "A Python."
[session]
startup_command = '{sys.executable} -q -i'
ready_pattern = "^>>> $"
[session.commands.run]
pattern = "[^#]*"
description = "Run a line."
[session.commands.secret]
pattern = ".*"
description = "Run a line that a person has seen."
human_approval = true
risk_tier = "high"
"""


class Person:
    """Allows what holds the word ``please``."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, question: Question) -> Answer:
        """Answer at once."""
        self.asked.append(question.tool)
        return Answer(approved="please" in question.arguments, by="a test")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one session."""
    (tmp_path / "py.clad.toml").write_text(MANIFEST)
    return tmp_path


@pytest.fixture
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a line that has begun."""
    return tmp_path_factory.mktemp("begun") / "begun"


def said(history: History) -> list[dict[str, Any]]:
    """Return the results of a run's calls."""
    events = [getattr(line, "event", None) for line in history.lines]
    return [json.loads(event.content) for event in events if isinstance(event, ToolReturned)]


@pytest.mark.req("session-gate")
async def test_every_interaction_is_judged_journaled_and_replayed(folder: Path) -> None:
    person = Person()
    provider = ScriptedProvider(
        [
            reply(call("py.run", command="import os; x = 41")),
            reply(call("py.run", command="x + 1"), call("py.run", command="# no")),
            reply(call("py.secret", command="x = 0"), call("py.secret", command="'please'")),
            reply(call("py.run", command="x, os.getpid()")),
            say("done"),
        ]
    )
    async with World.in_memory() as world:
        run = await world.run(
            "go", Agent(model=provider, tools=[folder], kind="chat"), approver=person
        )
        answers = said(await world.archive.history(run.id))
        statuses = [
            b.status for m in run.state.history for b in m.blocks if b.type == "tool_result"
        ]
        assert statuses == ["ok", "ok", "invalid", "denied", "ok", "ok"]
        assert [a["output"] for a in answers[:3]] == ["", "42", "'please'"]
        assert person.asked == ["py.secret", "py.secret"]
        x, pid = json.loads(answers[3]["output"].replace("(", "[").replace(")", "]"))
        assert x == 41
        assert read_process(pid) is None  # the program ended with the run
        assert (await world.archive.replay(run.id)).identical


@pytest.mark.req("session-gate")
async def test_policy_goes_by_the_risk_of_each_command(folder: Path) -> None:
    policy = Policy(rules=(Rule(decision="deny", tool="py.*", risk=("high",)),))
    provider = ScriptedProvider(
        [
            reply(call("py.secret", command="'please'"), call("py.run", command="1")),
            say("done"),
        ]
    )
    async with World.in_memory() as world:
        run = await world.run(
            "go", Agent(model=provider, tools=[folder], policy=policy, kind="chat")
        )
        assert [a["output"] for a in said(await world.archive.history(run.id))] == ["1"]


@pytest.mark.req("session-crash")
async def test_a_run_that_is_taken_up_again_is_told_that_its_session_is_lost(
    folder: Path, begun: Path
) -> None:
    async with World.in_memory() as world:
        endless = ScriptedProvider(
            [
                reply(call("py.run", command="x = 41")),
                reply(call("py.run", command=_endless(begun))),
            ]
        )
        task = asyncio.create_task(
            world.run("go", Agent(model=endless, tools=[folder], kind="chat"), run_id="the-run")
        )
        await appears(begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = ScriptedProvider(
            [reply(call("py.run", command="x")), reply(call("py.run", command="x")), say("done")]
        )
        run = await world.resume("the-run", Agent(model=again, kind="chat"))
        answers = said(await world.archive.history(run.id))
    assert answers[0]["status"] == "success"
    assert "the session is lost" in answers[-2]["fault"]
    assert answers[-1]["started"] is True and "NameError" in answers[-1]["output"]
    results = [b.status for m in run.state.history for b in m.blocks if b.type == "tool_result"]
    assert results[1] == "ambiguous", "nobody knows how far the interrupted call came"


@pytest.mark.req("session-resumed-limits")
async def test_the_number_of_interactions_goes_on_when_a_run_is_resumed(
    folder: Path, begun: Path
) -> None:
    limited = MANIFEST.replace("[session]", "[session]\nmax_interactions = 3")
    (folder / "py.clad.toml").write_text(limited)
    async with World.in_memory() as world:
        endless = ScriptedProvider(
            [
                reply(call("py.run", command="# no"), call("py.run", command="1")),
                reply(call("py.run", command=_endless(begun))),
            ]
        )
        task = asyncio.create_task(
            world.run("go", Agent(model=endless, tools=[folder], kind="chat"), run_id="the-run")
        )
        await appears(begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        calls = [reply(call("py.run", command=str(n))) for n in range(3)]
        await world.resume(
            "the-run", Agent(model=ScriptedProvider([*calls, say("done")]), kind="chat")
        )
        lost, last, over = said(await world.archive.history("the-run"))[-3:]
    assert "the session is lost" in lost["fault"]
    assert (last["started"], last["output"]) == (True, "1")
    assert "used all 3 interactions" in over["fault"]


def _endless(begun: Path) -> str:
    """A line that never ends, and says when it has begun."""
    return f"import time; print('x', file=open({str(begun)!r}, 'w'), flush=True); time.sleep(600)"

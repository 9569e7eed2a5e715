"""A whole build: runs of the real engine in one journal, real git, real validation, one driver.

Only the model is scripted: it answers by the tools that it is offered.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from git_project import AT, files_of, project

from artificer.artifacts.loop import Owed, tool_for
from artificer.build.detect import Project
from artificer.build.drive import Driver, replayed
from artificer.build.files import WorktreeFiles
from artificer.build.outcome import judgement_of, returned, run_id
from artificer.build.perform import TreePerformer
from artificer.build.prompts import load_prompts
from artificer.build.repository import BuildRepository
from artificer.build.validate import Validator
from artificer.contracts.definition import toolset
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.loops import facts as f
from artificer.loops import wishes as w
from artificer.loops.build import BuildState
from artificer.loops.judge import judged
from artificer.loops.prompt import Instructions, instruct, instruct_judge
from artificer.loops.table import LOOPS
from artificer.ports import Executor
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.engine import Engine
from artificer.runtime.perform import Performer
from artificer.runtime.post import Post
from artificer.testing.rig import Rig
from artificer.tools.artifact import ArtifactExecutor
from artificer.values.base import JsonObject

COMMAND = "python -m unittest -q"
PYTHON = Project(bins=(str(Path(sys.executable).parent),))
TEST = "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        "


def model(body: JsonObject) -> Any:
    """A model that does what its one tool is for, once; it plans a library and its user."""
    said: Any = body
    offered = {tool["name"]: tool for tool in said["tools"]}
    prompt = said["messages"][0]["blocks"][0]["text"]
    if len(said["messages"]) > 1:
        return say("Done.")
    if "create_plan" in offered:
        specs = [
            {"name": "lib", "title": "Library", "description": "A module lib."},
            {"name": "app", "title": "App", "description": "Uses it.", "dependencies": ["lib"]},
        ]
        return reply(call("create_plan", title="Both", overview="Two.", specs=specs))
    if "submit_verdict" in offered:
        count = offered["submit_verdict"]["input_schema"]["properties"]["criteria"]["maxItems"]
        found = [{"criterion": n, "met": True, "evidence": "e"} for n in range(1, count + 1)]
        return reply(call("submit_verdict", verdict="accept", criteria=found))
    for name in ("create_spec", "create_phase"):
        if name in offered:
            (own,) = offered[name]["input_schema"]["properties"]["name"]["enum"]
            return reply(call(name, **(_spec(own) if name == "create_spec" else _phase(own))))
    written = re.search(r"^- (\w+)/$", prompt, re.MULTILINE)
    assert written, prompt
    spec = written[1]
    if "write it" not in prompt:
        return say("It is all there.")
    source = "VALUE = 1\n" if spec == "lib" else "import lib\nVALUE = lib.VALUE\n"
    test = TEST + f"import {spec}; self.assertEqual({spec}.VALUE, 1)\n"
    return reply(
        call("files.write", path=f"{spec}/__init__.py", text=source),
        call("files.write", path=f"{spec}/test_{spec}.py", text=test),
        call("files.write", path="notes.txt", text="out of scope"),
    )


def _spec(name: str) -> dict[str, Any]:
    phases = [
        {"name": p, "title": p, "description": "D", "files": [f"{name}/"]}
        for p in ("write", "check", "tidy")
    ]
    return {"name": name, "title": name, "overview": "O", "phases": phases}


def _phase(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": name,
        "objective": "O",
        "tasks": [{"description": f"{name} it"}],
        "validation_command": COMMAND,
    }


@dataclass
class EngineHands:
    """Runs of the real engine, all in one journal. Nobody is asked while ``person`` is None."""

    tree: TreePerformer
    rig: Rig = field(default_factory=Rig)
    person: str | None = "me"
    runs: list[str] = field(default_factory=list)

    async def run(self, state: BuildState, wish: w.StartRun) -> f.RunReturned | None:
        worktree = await self.tree.worktree(wish)
        told = instruct(state, wish, load_prompts(), room=50_000, commands=(COMMAND,))
        files = WorktreeFiles(worktree.path, LOOPS[wish.step.kind].means)
        finished = await self._drive(run_id(state.build, wish.step, wish.key), told, files)
        return returned(wish, finished, self.rig.blobs)

    async def judge(self, state: BuildState, wish: w.Check) -> f.Checked | None:
        told = instruct_judge(state, wish, load_prompts(), room=50_000)
        finished = await self._drive(run_id(state.build, wish.step, wish.key), told)
        return judged(wish, judgement_of(finished, self.rig.blobs))

    async def decide(self, state: BuildState, wish: w.AskDecision) -> f.Decided | None:
        if self.person is None:
            return None
        return f.Decided(key=wish.key, digest=wish.digest, decision="approve", by=self.person)

    async def cancel(self, wish: w.CancelRun) -> None:
        """Cancelling the task has ended the run's work."""

    async def _drive(self, run: str, told: Instructions, *more: Executor) -> RunState:
        executors = list(more)
        if told.owed is not None:
            executors.append(ArtifactExecutor(self.rig.blobs, (tool_for(told.owed),)))
        by_name = {tool.name: e for e in executors for tool in e.tools}
        provider = ScriptedProvider(model)
        performer = Performer(provider, by_name, None, self.rig.blobs, self.rig.clock)
        engine = Engine(self.rig.journal, performer, Post(self.rig.mailbox))
        if await self.rig.journal.read(run, limit=1):
            return await engine.resume(run)
        self.runs.append(run)
        tools = toolset(tuple(tool for e in executors for tool in e.tools))
        spec = RunSpec(
            kind="chat",
            prompt=told.prompt,
            system=told.system,
            provider="scripted",
            model="m",
            toolset=tools.to_text(),
        )
        return await engine.start(run, spec)


@dataclass
class Log:
    facts: list[f.Fact] = field(default_factory=list)
    stop_after: int = 10_000

    async def record(self, fact: f.Fact) -> None:
        if len(self.facts) >= self.stop_after:
            raise ConnectionError("the process dies here")
        self.facts.append(fact)


async def begun(tmp_path: Path, **options: Any) -> tuple[Log, EngineHands]:
    home = project(tmp_path / "project", {"README.md": "x\n"})
    repository = await BuildRepository.open(tmp_path / "build", home)
    hands = EngineHands(TreePerformer(repository, Validator(PYTHON, seconds=60)))
    settings = f.Options(size="small", **options)
    log = Log([f.BuildRequested(build="b1", request="R", base=repository.base, options=settings)])
    return log, hands


async def drive(log: Log, hands: EngineHands) -> BuildState:
    driver = Driver(
        replayed(log.facts), record=log.record, hands=hands, tree=hands.tree, now=lambda: AT
    )
    return await driver.go()


@pytest.mark.req("build-drive")
async def test_a_request_becomes_software_by_typed_calls_alone(tmp_path: Path) -> None:
    log, hands = await begun(tmp_path, judge=("plan", "spec"))
    state = await drive(log, hands)
    assert state.ended == "completed", state.stalled
    assert files_of(hands.tree.repository.folder / "repo.git", state.integration) == [
        "README.md",
        "app/__init__.py",
        "app/test_app.py",
        "lib/__init__.py",
        "lib/test_lib.py",
    ]
    first = state.specs[0].phases[0]
    assert first.outside == ("notes.txt",) and state.merged == ("lib", "app")
    assert replayed(log.facts) == state
    for run in hands.runs:
        assert (await hands.rig.replay(run=run)).identical
    kinds = [run.split(".")[1].split("-")[0] for run in hands.runs]
    assert {k: kinds.count(k) for k in dict.fromkeys(kinds)} == {
        "plan": 2,
        "spec": 4,
        "phase": 6,
        "code": 6,
    }


@pytest.mark.req("build-drive")
async def test_a_build_waits_for_a_person_and_goes_on_when_there_is_one(tmp_path: Path) -> None:
    log, hands = await begun(tmp_path)
    hands.person = None
    state = await drive(log, hands)
    assert [type(wish) for wish in state.open] == [w.AskDecision] and not state.ended
    hands.person = "me"
    assert (await drive(log, hands)).ended == "completed"


@pytest.mark.req("build-drive", "build-replay")
async def test_a_process_that_dies_anywhere_leaves_a_build_that_goes_on(tmp_path: Path) -> None:
    log, hands = await begun(tmp_path, parallel=1)
    deaths = 0
    while True:
        log.stop_after = len(log.facts) + 2
        try:
            state = await drive(log, hands)
            break
        except ConnectionError:
            deaths += 1
    assert state.ended == "completed" and deaths > 10
    assert len(set(hands.runs)) == len(hands.runs), "no run was begun twice"
    assert len(hands.runs) == 15


@pytest.mark.req("build-drive")
async def test_a_cancelled_build_ends_what_is_under_way(tmp_path: Path) -> None:
    log, hands = await begun(tmp_path)
    reached = asyncio.Event()

    async def never(state: BuildState, wish: w.StartRun) -> f.RunReturned | None:
        reached.set()
        await asyncio.Event().wait()
        return None

    hands.run = never  # type: ignore[method-assign]
    driver = Driver(
        replayed(log.facts), record=log.record, hands=hands, tree=hands.tree, now=lambda: AT
    )
    going = asyncio.create_task(driver.go())
    await reached.wait()
    await driver.tell(f.CancelRequested(reason="Enough.", by="me"))
    state = await going
    assert state.ended == "cancelled" and state.open == ()
    assert json.loads(state.canonical())["reason"] == "Enough."


@pytest.mark.req("build-drive")
def test_the_id_of_a_run_is_that_of_its_key() -> None:
    step = w.StepId(kind="spec", spec="a")
    key = "sha256:" + "ab" * 32
    assert run_id("b1", step, key) == "b1.spec-abababababababab"
    assert tool_for(Owed(kind="spec", name="a")).name == "create_spec"

"""A tree of runs under control: paused, steered, cancelled, waiting for people, without its model.

Whatever a person does to a build holds for every run that it has under way.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from engineer import Engineer
from git_project import git, project
from parts import ONE, PAIR, PROJECT
from site_of_builds import Site, site

from artificer.builds.facts import BuildOptions, RunRested
from artificer.builds.jobs import StartRun
from artificer.core.conditions import Condition
from artificer.core.events import BuildAdvanced, RunResumed, Steered
from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine, IntentLine
from artificer.core.signals import AnswerCall, Cancel, Interrupt, Pause, Signal, Steer
from artificer.errors import OperatorError
from artificer.ports import PreparedRequest
from artificer.providers.scripted import ScriptedProvider
from artificer.runs import Run
from artificer.runtime.builds.perform import TreePerformer
from artificer.runtime.builds.worktrees import Worktree
from artificer.runtime.watching.observe import Observer
from artificer.values.model import ModelFailure
from artificer.world import World

pytestmark = pytest.mark.req("build-control")


class Held(ScriptedProvider):
    """An engineer who stops where he reads certain words, until he is let go on."""

    def __init__(self, what: str, count: int = 1) -> None:
        super().__init__(Engineer(PAIR))
        self.what = what
        self.count = count
        self.waiting = 0
        self.reached = asyncio.Event()
        self.going = asyncio.Event()

    async def generate(self, prepared: PreparedRequest, on_delta: Any) -> Any:
        if self.what in json.dumps(prepared.body):
            self.waiting += 1
            if self.waiting >= self.count:
                self.reached.set()
            await self.going.wait()
        return await super().generate(prepared, on_delta)


class Ears(Observer):
    """Hears when the build has recorded a signal."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        if run == "b" and isinstance(line, EventLine) and getattr(line.event, "letter", 0):
            self.heard.set()


@dataclass
class Begun:
    """A build whose model is held at the same place in two runs."""

    place: Site
    model: Held
    task: asyncio.Task[Run]
    ears: Ears

    async def hears(self, signal: Signal) -> None:
        await self.place.world.send("b", signal)
        await self.ears.heard.wait()

    async def dies(self) -> None:
        """As with Ctrl-C."""
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task

    async def goes_on(self) -> Run:
        self.model.going.set()
        return await self.task


async def begun(place: Site) -> Begun:
    model, ears = Held('"complete_task"', count=2), Ears()
    place.model = model
    task = asyncio.ensure_future(place.build(observer=ears))
    reached = asyncio.ensure_future(model.reached.wait())
    await asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
    assert not task.done(), task.result()
    return Begun(place, model, task, ears)


async def standings(place: Site) -> dict[str, str]:
    return {run: (await place.world.get(run)).status for run in await place.children()}


async def is_whole(place: Site) -> None:
    """Nothing was asked for twice, and every run replays."""
    asked = [json.dumps(body, sort_keys=True) for body in place.model.requests]
    assert len(asked) == len(set(asked))
    for run in ["b", *await place.children()]:
        assert (await place.world.archive.replay(run, model=place.model)).identical


async def test_paused_it_rests_and_goes_on_where_it_was(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, PAIR) as place:
        building = await begun(place)
        await building.hears(Pause(by="ada", reason="Lunch."))
        run = await building.goes_on()
        assert run.status == "paused"
        stand = await standings(place)
        assert sorted(stand.values()).count("paused") == 2, stand
        before = len(place.model.requests)
        rests = run.state.build.resting if run.state.build else ()
        assert [r.standing for r in rests] == ["paused"] * 2 and "Lunch." in rests[0].reason
        run = await place.resume()
        assert run.status == "completed", run.text
        assert len(place.model.requests) > before
        assert set((await standings(place)).values()) == {"completed"}
        await is_whole(place)


async def test_what_is_said_to_it_every_run_hears_before_its_next_reply(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    words = "Use the metric system."
    async with site(tmp_path, home, PAIR) as place:
        building = await begun(place)
        await building.hears(Steer(text=words, by="ada"))
        stand = await standings(place)
        working = [run for run, status in stand.items() if status != "completed"]
        run = await building.goes_on()
        assert run.status == "completed" and len(working) == 2
        for child in working:
            said = [e for e in await events(place, child) if isinstance(e, Steered)]
            assert [(e.text, e.by) for e in said] == [(words, "ada")]
        told = [body for body in place.model.requests if words in json.dumps(body)]
        assert len(told) >= 2
        await is_whole(place)


async def test_what_is_said_while_nobody_drives_it_is_heard_too(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    words = "Use the metric system."
    async with site(tmp_path, home, PAIR) as place:
        building = await begun(place)
        await building.dies()
        await place.world.send("b", Steer(text=words))
        place.model = ScriptedProvider(Engineer(PAIR))
        run = await place.resume()
        assert run.status == "completed"
        assert sum(words in json.dumps(body) for body in place.model.requests) >= 2


async def test_what_is_said_between_two_runs_reaches_the_next_ones(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    words = "Use the metric system."
    async with site(tmp_path, home, ONE) as place:
        run = await place.build(decider=None)
        assert run.status == "waiting", "only a person is asked: no run is under way"
        before = len(place.model.requests)
        await place.world.send("b", Steer(text=words, by="ada"))
        run = await place.resume()
        assert run.status == "completed", run.text
        first = [b for b in place.model.requests[before:] if _turn(b) == 0]
        assert first and all(words in json.dumps(body) for body in first)
        await is_whole(place)


def _turn(body: Any) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


async def events(place: Site, run: str) -> list[Any]:
    lines = (await place.world.archive.history(run)).lines
    return [line.event for line in lines if isinstance(line, EventLine)]


@pytest.mark.parametrize("way", ["signal", "interrupt", "outside", "afterwards"])
async def test_cancelled_it_leaves_nothing_under_way(tmp_path: Path, way: str) -> None:
    home = project(tmp_path / "p", PROJECT)
    before = git(home, "rev-parse", "HEAD")
    async with site(tmp_path, home, PAIR) as place:
        building = await begun(place)
        match way:
            case "signal":
                await place.world.send("b", Cancel(reason="Enough."))
            case "interrupt":
                await place.world.send("b", Interrupt(reason="Enough."))
            case "outside":  # the process that drives it is fenced
                await place.world.cancel("b", "Enough.")
                building.model.going.set()
            case _:
                await building.dies()
                await place.world.cancel("b", "Enough.")
        await asyncio.gather(building.task, return_exceptions=True)
        run = await place.world.get("b")
        assert run.status == "cancelled"
        stand = await standings(place)
        assert sorted(stand.values()).count("cancelled") == 2
        assert set(stand.values()) == {"completed", "cancelled"}
        work = place.world.config.project_folder / "builds/b/work"
        if way != "outside":
            assert list(work.iterdir()) == []
        with pytest.raises(OperatorError, match="not completed"):
            await place.world.builds.promote("b")
        for child in ["b", *await place.children()]:
            assert (await place.world.archive.replay(child, model=place.model)).identical
    assert git(home, "rev-parse", "HEAD") == before
    assert git(home, "status", "--porcelain") == "" and git(home, "branch") == "* main"


@pytest.mark.req("sub-agents-cancelled")
async def test_a_run_that_is_about_to_begin_when_it_is_cancelled_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about_to_begin, go, worktree = asyncio.Event(), asyncio.Event(), TreePerformer.worktree

    async def held(tree: TreePerformer, job: StartRun) -> Worktree:
        if job.step.kind == "code":
            about_to_begin.set()
            await go.wait()
        return await worktree(tree, job)

    monkeypatch.setattr(TreePerformer, "worktree", held)
    async with site(tmp_path, project(tmp_path / "p", PROJECT), ONE) as place:
        building = asyncio.create_task(place.build())
        await about_to_begin.wait()
        before, asked = await standings(place), len(place.model.requests)
        async with World.open(place.world.config) as other:  # its process may learn of it later
            await other.cancel("b", "Enough.")
        go.set()
        await asyncio.wait((building,))
        after = await standings(place)
        begun = after.keys() - before.keys()
        assert {after[run] for run in begun} <= {"cancelled"}
        assert len(place.model.requests) == asked


async def test_interrupted_by_its_user_it_goes_on_later(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, PAIR) as place:
        building = await begun(place)
        await building.dies()
        place.model = ScriptedProvider(Engineer(PAIR))
        run = await place.resume()
        assert run.status == "completed", run.text
        kinds = [child.split(".")[1].split("-")[0] for child in await place.children()]
        counts = {kind: kinds.count(kind) for kind in set(kinds)}
        assert counts == {"plan": 1, "spec": 2, "phase": 6, "code": 6}
        await is_whole(place)


ASKING = Policy(rules=(Rule(decision="ask", tool="run_validation", reason="Look first."),))


async def test_it_waits_for_what_its_runs_wait_for(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, replace(PAIR, tries=True)) as place:
        run = await place.build(policy=ASKING, options=BuildOptions(size="small", parallel=2))
        answered = 0
        while run.status == "waiting":
            build = run.state.build
            assert build is not None and build.resting and "run_validation" in run.text
            for rested in build.resting:
                assert rested.standing == "waiting" and "Look first." in rested.reason
                child = await place.world.get(rested.run)
                (question,) = child.questions
                said = AnswerCall(call=question.digest, approved=True, by="ada")
                await place.world.send(rested.run, said)
                answered += 1
            run = await place.resume()
        assert run.status == "completed", run.text
        assert answered == 6
        await is_whole(place)


class Answering(Observer):
    """A person who answers as soon as a run of the build waits."""

    def __init__(self, place: Site, model: Held) -> None:
        self.place = place
        self.model = model
        self.answers: list[asyncio.Task[int]] = []

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        event = line.event if isinstance(line, EventLine) else None
        if isinstance(event, BuildAdvanced) and isinstance(event.fact, RunRested):
            self.answers.append(asyncio.ensure_future(self.answer(event.fact.run)))

    async def answer(self, child: str) -> int:
        (question,) = (await self.place.world.get(child)).questions
        said = AnswerCall(call=question.digest, approved=True, by="ada")
        number = await self.place.world.send(child, said)
        if len(self.answers) == 3:
            self.model.going.set()
        return number


async def test_what_is_answered_while_others_work_goes_on_with_them(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    only_left = Condition(at="/path", glob="left/*")
    rule = Rule(decision="ask", tool="host.write", arguments=(only_left,))
    async with site(tmp_path, home, PAIR) as place:
        place.model = held = Held("right/one.txt")
        ada = Answering(place, held)
        run = await place.build(policy=Policy(rules=(rule,)), observer=ada)
        assert len(ada.answers) == 3
        rests = [e for e in await events(place, "b") if isinstance(e, RunResumed)]
        assert run.status == "completed" and rests == [], run.text
        await is_whole(place)


async def test_a_model_that_cannot_be_reached_costs_no_attempt(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    down = True

    def inspect(kind: str, body: Any) -> Any:
        if down and kind in ("phase", "code", "spec"):
            return ModelFailure(code="unavailable", message="Connection refused.")
        return None

    async with site(tmp_path, home, ONE, inspect) as place:
        run = await place.build(options=BuildOptions(size="small", attempts=1))
        for _ in range(3):
            assert run.status == "stalled"
            build = run.state.build
            assert build is not None and "Connection refused." in run.text
            assert all(spec.specifying.failures == 0 for spec in build.specs)
            facts = [e.fact for e in await events(place, "b") if isinstance(e, BuildAdvanced)]
            assert any(isinstance(fact, RunRested) for fact in facts)
            run = await place.resume()
        down = False
        run = await place.resume()
        assert run.status == "completed", run.text
        assert run.state.build is not None and run.state.build.resting == ()


async def test_one_process_at_a_time_works_on_it(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, PAIR) as place:
        building = await begun(place)
        async with site(tmp_path, home, PAIR) as other:
            with pytest.raises(
                OperatorError, match=f"Another process executes .*: process {os.getpid()} on "
            ):
                await other.resume()
        run = await building.goes_on()
        assert run.status == "completed", run.text
        await is_whole(place)

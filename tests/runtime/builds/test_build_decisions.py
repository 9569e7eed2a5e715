"""Decisions of people on a build's plan: early, late, twice, again, and their effects."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engineer import Engineer, Job
from git_project import git, project
from parts import ONE, PAIR, PROJECT, part
from site_of_builds import Site, site

from artificer.builds.facts import BuildOptions, Decided, RevisionRequested, SpecMerged
from artificer.builds.scheduler import question_of
from artificer.builds.state import BuildState
from artificer.core.events import BuildAdvanced, ReceiptIgnored
from artificer.core.record import EventLine, IntentLine
from artificer.core.signals import Decide, Retry, Revise
from artificer.errors import Fenced, InvalidValueError, OperatorError
from artificer.providers.scripted import ScriptedProvider
from artificer.runs import Run
from artificer.runtime.watching.observe import Observer

SMALL = BuildOptions(size="small", parallel=2)


def built(run: Run) -> BuildState:
    assert run.state.build is not None
    return run.state.build


def asked(run: Run) -> str:
    question = question_of(built(run))
    assert question is not None
    return question.digest


async def kinds(place: Site) -> dict[str, int]:
    found = [run.split(".")[1].split("-")[0] for run in await place.children()]
    return {kind: found.count(kind) for kind in sorted(set(found))}


async def events(place: Site) -> list[Any]:
    lines = (await place.world.archive.history("b")).lines
    return [line.event for line in lines if isinstance(line, EventLine)]


@pytest.mark.req("build-attacks", "build-approval")
async def test_only_the_plan_that_waits_is_approved_and_it_is_once(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place, site(tmp_path, home, ONE) as other:
        for one in (place, other):
            one.model = ScriptedProvider(Engineer(replace(ONE, title="Another plan")))
        first = await Site(place.world, home, ScriptedProvider(Engineer(ONE))).build(decider=None)
        await place.world.send("b", Decide(plan=asked(first), decision="iterate", reason="No."))
        second = await place.resume(decider=None)
        assert second.status == "waiting" and asked(second) != asked(first)
        await place.world.send("b", Decide(plan=asked(first), decision="approve", by="late"))
        assert (await place.resume(decider=None)).status == "waiting"
        assert await kinds(place) == {"plan": 2}, "nothing was begun"
        right = Decide(plan=asked(second), decision="approve", by="ada")

        async def approve(at: Site) -> Run:
            await at.world.send("b", right)
            return await at.resume(decider=None)

        ended = await asyncio.gather(approve(place), approve(other), return_exceptions=True)
        runs = [end for end in ended if isinstance(end, Run)]
        assert all(isinstance(end, Run | OperatorError | Fenced) for end in ended), ended
        assert "completed" in {run.status for run in runs}
        assert await kinds(place) == {"code": 3, "phase": 3, "plan": 2, "spec": 1}
        ignored = [e for e in await events(place) if isinstance(e, ReceiptIgnored)]
        assert "Another plan waits" in ignored[0].reason and len(ignored) <= 2
        decided = [e.fact.decision for e in await events(place) if _is(e, Decided)]
        assert decided == ["iterate", "approve"]
        for run in ["b", *await place.children()]:
            assert (await place.world.archive.replay(run, model=place.model)).identical


def _is(event: Any, kind: type) -> bool:
    return isinstance(event, BuildAdvanced) and isinstance(event.fact, kind)


@pytest.mark.req("build-attacks", "build-approval")
async def test_a_plan_that_is_rejected_ends_it(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place:
        run = await place.build(decider=None)
        no = Decide(plan=asked(run), decision="reject", by="ada", reason="Not now.")
        await place.world.send("b", Decide(plan=asked(run), decision="approve", by="bob"))
        await place.world.send("b", no)
        run = await place.resume(decider=None)
        assert (run.status, run.reason) == ("cancelled", "rejected")
        assert await kinds(place) == {"plan": 1}
        assert git(home, "branch") == "* main"


@pytest.mark.req("build-last-word")
@pytest.mark.parametrize("last", ["approve", "reject", "iterate"])
async def test_the_last_word_before_anything_ran_counts(tmp_path: Path, last: str) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place:
        run = await place.build(decider=None)
        digest, before = asked(run), len(place.model.requests)
        for decision in ("reject", "approve", "reject", "approve", last):
            said = Decide.from_json({"plan": digest, "decision": decision, "reason": "So."})
            await place.world.send("b", said)
        run = await place.resume(decider=None)
        status = {"approve": "completed", "reject": "cancelled", "iterate": "waiting"}
        assert run.status == status[last], run.text
        decided = [e.fact.decision for e in await events(place) if _is(e, Decided)]
        assert decided == [last]
        ignored = [e for e in await events(place) if isinstance(e, ReceiptIgnored)]
        assert len(ignored) == 4 and "decides otherwise" in ignored[0].reason
        if last == "reject":
            assert len(place.model.requests) == before and await kinds(place) == {"plan": 1}
        assert (await place.world.archive.replay("b", model=place.model)).identical


@pytest.mark.req("build-vain-signals")
async def test_what_has_no_effect_on_a_build_is_said_to_have_none(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place:
        await place.build(decider=None)
        await place.world.send("b", Revise(feedback="Too early.", by="ada"))
        run = await place.resume(decider=None)
        await place.world.send("b", Decide(plan=asked(run), decision="approve"))
        await place.world.send("b", Revise(feedback="One.", by="ada"))
        await place.world.send("b", Revise(feedback="Two.", by="ada"))
        await place.world.send("b", Retry(spec="left", by="ada"))
        run = await place.resume(decider=None)
        assert run.status == "waiting", "another plan waits"
        found = await events(place)
        revised = [e.fact.feedback for e in found if _is(e, RevisionRequested)]
        ignored = [(e.what, e.reason) for e in found if isinstance(e, ReceiptIgnored)]
        assert revised == ["One."]
        assert ignored == [
            ("revise", "No plan is approved yet."),
            ("revise", "Another plan is being made already."),
            ("retry", "No spec 'left' has failed."),
        ]
        assert (await place.world.archive.replay("b", model=place.model)).identical


@pytest.mark.req("build-vain-signals")
async def test_a_signal_that_no_run_could_read_is_not_sent(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, ONE) as place:
        await place.build(decider=None)
        for signal in (Revise(feedback="x" * 16_001), Retry(hint="x" * 16_001)):
            with pytest.raises(InvalidValueError, match=r"feedback|hint"):
                await place.world.send("b", signal)
        assert await place.world._resources.storage.signals.read("b", 0) == []


class Turning(ScriptedProvider):
    """Stops before the code of a spec until somebody has asked for another plan."""

    def __init__(self, job: Job, spec: str) -> None:
        super().__init__(lambda body: self.engineer(body))
        self.engineer = Engineer(job)
        self.spec = spec
        self.reached = asyncio.Event()

    async def generate(self, payload: Any, on_delta: Any) -> Any:
        body: Any = payload.body
        prompt = body["messages"][0]["blocks"][0]["text"]
        if f'"name": "{self.spec}",\n "title"' in prompt and "# Files in scope" in prompt:
            self.reached.set()
            await asyncio.Event().wait()
        return await super().generate(payload, on_delta)


class Merged(Observer):
    """Sees when a spec is merged."""

    def __init__(self) -> None:
        self.seen = asyncio.Event()

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        if isinstance(line, EventLine) and _is(line.event, SpecMerged):
            self.seen.set()


CONSTANT = ({"name": "unit", "value": "metre", "purpose": "Lengths."},)
LATER = replace(PAIR, specs={"left": PAIR.specs["left"], "new": ([], part("new"))})


@pytest.mark.req("build-attacks", "build-revision")
@pytest.mark.parametrize("later", [LATER, replace(PAIR, constants=CONSTANT)])
async def test_a_revision_ends_what_it_makes_invalid_and_keeps_the_rest(
    tmp_path: Path, later: Job
) -> None:
    """The first plan loses a spec; the second changes a constant that all had been told."""
    home = project(tmp_path / "p", PROJECT)
    anew = later is not LATER
    given = replace(PAIR, constants=({**CONSTANT[0], "value": "foot"},)) if anew else PAIR
    async with site(tmp_path, home, given) as place:
        place.model = held = Turning(given, "right")
        merged = Merged()
        building = asyncio.ensure_future(place.build(options=SMALL, observer=merged))
        await held.reached.wait()
        await merged.seen.wait()
        before = built(await place.world.get("b"))
        stopped = set(await place.children())
        held.engineer, held.spec = Engineer(later), "nobody"
        await place.world.send("b", Revise(feedback="Metres.", by="ada"))
        run = await building
        build = built(run)
        assert run.status == "completed", run.text
        gone = {old.spec.name for old in build.archive}
        assert gone == ({"left", "right"} if anew else {"right"})
        left, was = build.spec("left"), before.spec("left")
        assert left and was
        # Made anew within the same second, a commit may be the same.
        assert anew or left.tip == was.tip, "what is kept keeps its commits"
        statuses = {r: (await place.world.get(r)).status for r in await place.children()}
        assert [statuses[r] for r in stopped].count("cancelled") == 1
        assert set(build.merged) == set(later.specs)
        kept = {r for r in statuses if r not in stopped}
        assert len(kept) == 1 + (14 if anew else 7), "one plan, and what is begun anew"
        for child in ["b", *await place.children()]:
            assert (await place.world.archive.replay(child, model=place.model)).identical

"""Whatever happens to a build, in whatever order, its promises hold at every step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from artificer.artifacts.dependencies import closure, dependants
from artificer.builds import facts, jobs
from artificer.builds.scheduler import schedule
from artificer.builds.state import ACTIVE, BuildState
from build_world import BuildWorld, plan_of, replayed, work_of

STEPS = 160


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """A random graph without cycles: each spec depends on some before it."""
    count = draw(st.integers(1, 5))
    return {
        f"s{i}": draw(st.lists(st.sampled_from([f"s{j}" for j in range(i)]), unique=True))
        if i
        else []
        for i in range(count)
    }


def _bad(world: BuildWorld, wish: Any, which: int) -> facts.Fact:
    """A fact of a wish that goes wrong."""
    report = f"failure number {'abcdefgh'[which % 8]}"
    match wish:
        case jobs.StartRun():
            return facts.RunReturned(key=wish.key, outcome="failed", detail=report)
        case jobs.Check():
            return facts.Checked(key=wish.key, passed=False, report=report)
        case jobs.PrepareBase():
            return facts.BaseRefused(key=wish.key, report=report)
        case jobs.MergeSpec():
            cause = "conflict" if which % 2 else "validation"
            return facts.MergeRefused(key=wish.key, cause=cause, report=report)
        case jobs.RebuildIntegration() if wish.tips:
            return facts.RebuildRefused(key=wish.key, spec=wish.tips[-1].spec, report=report)
    return world.answer(wish)


def _holds(world: BuildWorld) -> None:
    """The promises."""
    state = world.state
    assert sum(s.status in ACTIVE for s in state.specs) <= state.options.parallel
    assert sum(isinstance(x, jobs.MergeSpec) for x in state.open) <= 1
    assert len({x.key for x in state.open}) == len(state.open)
    done = [s.name for s in state.specs if s.status == "done"]
    assert sorted(done) == sorted(state.merged)
    for spec in state.specs:
        needed = closure([spec.name], state.graph) - {spec.name}
        if spec.status not in ("waiting", "blocked"):
            assert needed <= set(state.merged), "began before what it depends on was merged"
        if spec.status == "done":
            assert all(phase.commit for phase in spec.phases), "done without validated code"
        if spec.base:
            assert world.commits[spec.base] >= work_of(world, needed)
            assert world.commits[spec.base] == work_of(world, spec.basis)
        if spec.status == "blocked":
            assert any(
                (d := state.spec(n)) and d.status in ("failed", "blocked") and n in spec.reason
                for n in state.graph[spec.name]
            )
    if not state.rebuilding:
        assert world.commits[state.integration] == work_of(world, state.merged)
    if state.build:
        assert state.open or state.ended or state.stalled, "nobody knows what to do"
    if state.ended == "completed":
        assert all(s.status == "done" for s in state.specs)


@pytest.mark.req("build-schedule", "build-replay", "build-budget", "build-revision")
@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_random_builds_with_failures_revisions_crashes_and_echoes(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    world = BuildWorld(plan_of(graph))
    options = facts.BuildOptions(
        size="small", parallel=data.draw(st.integers(1, 3)), attempts=data.draw(st.integers(1, 4))
    )
    world.begin(options)
    luck = data.draw(st.integers(0, 9))
    dice = data.draw(st.randoms(use_true_random=False))
    for _ in range(STEPS):
        _holds(world)
        if world.state.ended:
            break
        event = dice.random()
        if event < 0.03:  # a crash: only what was logged is known; open wishes are performed again
            world.state = replayed(world.log)
        elif event < 0.08:  # an echo of something old
            before = world.state
            world.tell(dice.choice(world.log))
            if not isinstance(world.log[-1], facts.RevisionRequested | facts.RetryRequested):
                assert world.state == before
        elif event < 0.10 and world.state.plan is not None:
            words = {name: dice.choice(["Another.", f"Make {name}."]) for name in graph}
            world.plan = plan_of(graph, **words)
            world.tell(facts.RevisionRequested(feedback="Change it.", by="me"))
        elif world.state.stalled:
            failed = [s.name for s in world.state.specs if s.status == "failed"]
            name = dice.choice(failed) if failed else ""
            world.tell(facts.RetryRequested(spec=name, by="me"))
        else:
            wish = dice.choice(world.state.open)
            good = dice.randrange(10) >= luck / 2
            world.tell(world.answer(wish) if good else _bad(world, wish, dice.randrange(8)))
    assert replayed(world.log) == world.state
    assert replayed(world.log).digest == world.state.digest


@pytest.mark.req("build-schedule")
@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(graph=graphs(), parallel=st.integers(1, 4), seed=st.randoms(use_true_random=False))
def test_without_failures_every_build_completes_whatever_the_order(
    graph: dict[str, list[str]], parallel: int, seed: Any
) -> None:
    world = BuildWorld(plan_of(graph))
    world.begin(facts.BuildOptions(size="small", parallel=parallel))
    while world.state.open:
        world.tell(world.answer(seed.choice(world.state.open)))
        _holds(world)
    assert world.state.ended == "completed"
    assert isinstance(world.wished[-1], jobs.FinishBuild)
    keys = [x.key for x in world.wished if not isinstance(x, jobs.CancelRun)]
    assert len(set(keys)) == len(keys)


@pytest.mark.req("build-revision")
@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(graph=graphs(), data=st.data())
def test_a_revision_invalidates_exactly_what_depends_on_the_change(
    graph: dict[str, list[str]], data: st.DataObject
) -> None:
    world = BuildWorld(plan_of(graph))
    world.begin()
    world.go(until=lambda state: len(state.merged) == len(graph) - 1)
    if world.state.ended or world.state.plan is None:
        return
    changed = data.draw(st.sampled_from(sorted(graph)))
    before = {spec.name: spec for spec in world.state.specs}
    world.plan = plan_of(graph, **{changed: "Something else."})
    world.tell(facts.RevisionRequested(feedback="Change it.", by="me"))
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    world.approve()
    gone = dependants([changed], graph)
    assert {archived.spec.name for archived in world.state.archive} == gone
    for spec in world.state.specs:
        if spec.name not in gone:
            assert spec.generation == before[spec.name].generation
            assert spec.tip == before[spec.name].tip
    world.go()
    assert world.state.ended == "completed"
    _holds(world)


@pytest.mark.req("build-replay")
def test_a_fact_for_a_build_that_is_over_changes_nothing() -> None:
    world = BuildWorld(plan_of({"a": []}))
    world.begin()
    world.go()
    over = world.state
    for fact in world.log:
        assert schedule(over, fact) == (over, ())
    assert isinstance(over, BuildState)

"""The jobs that a build's scheduler hands out, fact by fact."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.builds import facts, jobs
from artificer.builds.scheduler import decision_on, failed_work
from artificer.values.base import ValueReader
from build_world import BASE, BuildWorld, artifact_digest, done, phase_of, plan_of, spec_of


def world_of(graph: dict[str, Any], **options: Any) -> BuildWorld:
    world = BuildWorld(plan_of(graph))
    world.begin(facts.BuildOptions(size="small", **options))
    return world


def approved(graph: dict[str, Any], **options: Any) -> BuildWorld:
    world = world_of(graph, **options)
    world.go(until=lambda state: state.plan is not None)
    return world


def statuses(world: BuildWorld) -> dict[str, str]:
    return {spec.name: spec.status for spec in world.state.specs}


def fail_code(world: BuildWorld, spec: str, report: str) -> None:
    """Let the code of a spec's current phase fail its validation once."""
    world.tell(world.answer(world.open(jobs.StartRun, f"code/{spec}/")))
    check = world.open(jobs.Check, f"code/{spec}/")
    world.tell(facts.Checked(key=check.key, passed=False, report=report))


def to_code(world: BuildWorld, spec: str) -> None:
    """Go on until a spec's first phase is to be coded."""
    for kind in (jobs.PrepareBase, jobs.StartRun, jobs.StartRun):
        world.tell(world.answer(world.open(kind, spec)))


@pytest.mark.req("build-approval")
def test_nothing_starts_before_the_plan_is_approved() -> None:
    world = world_of({"a": []})
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    assert [type(wish) for wish in world.state.open] == [jobs.AskDecision]
    assert world.state.specs == ()
    world.approve()
    assert [type(wish) for wish in world.state.open] == [jobs.PrepareBase]


@pytest.mark.req("build-approval")
def test_only_the_digest_that_waits_can_be_decided_about_and_only_once() -> None:
    world = world_of({"a": [], "b": []})
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    digest = artifact_digest(world.plan)
    other = artifact_digest(plan_of({"c": []}))
    assert "Another plan" in str(decision_on(world.state, other))
    before = world.state
    world.tell(
        facts.Decided(
            key=world.open(jobs.AskDecision).key, digest=other, decision="approve", by="me"
        )
    )
    assert world.state == before
    ask = world.open(jobs.AskDecision)
    assert decision_on(world.state, digest) == ask
    world.tell(facts.Decided(key=ask.key, digest=digest, decision="approve", by="me"))
    started = world.state
    assert world.tell(facts.Decided(key=ask.key, digest=digest, decision="approve", by="you")) == ()
    assert world.tell(facts.Decided(key=ask.key, digest=digest, decision="reject", by="you")) == ()
    assert world.state == started
    assert decision_on(world.state, digest) == "This plan is approved already."


@pytest.mark.req("build-approval")
def test_a_rejected_plan_ends_the_build_with_its_reason() -> None:
    world = world_of({"a": []})
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    ask = world.open(jobs.AskDecision)
    digest = ask.digest
    (finish,) = world.tell(
        facts.Decided(key=ask.key, digest=digest, decision="reject", by="me", reason="Too dear.")
    )
    assert isinstance(finish, jobs.FinishBuild)
    assert (finish.status, finish.reason) == ("rejected", "Too dear.")


@pytest.mark.req("build-approval")
def test_feedback_asks_for_another_plan_and_that_is_approved_anew() -> None:
    world = world_of({"a": []})
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    first = world.open(jobs.AskDecision)
    world.tell(
        facts.Decided(
            key=first.key, digest=first.digest, decision="iterate", by="me", reason="Add b."
        )
    )
    again = world.open(jobs.StartRun, "plan")
    assert again.attempt == 2 and world.state.planning.reports == ("me says: Add b.",)
    assert world.state.draft == world.plan
    world.plan = plan_of({"a": [], "b": []})
    world.tell(world.answer(again))
    assert world.open(jobs.AskDecision).digest != first.digest
    assert (
        world.tell(facts.Decided(key=first.key, digest=first.digest, decision="approve", by="me"))
        == ()
    )


@pytest.mark.req("build-schedule")
def test_a_diamond_runs_its_two_sides_at_once_and_its_end_last() -> None:
    world = approved({"top": [], "left": ["top"], "right": ["top"], "end": ["left", "right"]})
    world.go(until=lambda state: state.merged == ("top",))
    assert statuses(world) == {
        "top": "done",
        "left": "preparing",
        "right": "preparing",
        "end": "waiting",
    }
    left = world.open(jobs.PrepareBase, "left")
    assert [tip.spec for tip in left.tips] == ["top"]
    world.go()
    assert world.state.ended == "completed" and world.state.merged[-1] == "end"


@pytest.mark.req("build-schedule")
@pytest.mark.parametrize("parallel", [1, 2, 3])
def test_at_most_as_many_specs_are_worked_on_as_allowed(parallel: int) -> None:
    world = approved({"a": [], "b": [], "c": [], "d": []}, parallel=parallel)
    assert list(statuses(world).values()).count("preparing") == parallel


@pytest.mark.req("build-schedule")
def test_phases_follow_each_other_and_each_begins_from_the_commit_of_the_last() -> None:
    world = approved({"a": []})
    world.go(until=lambda state: bool(state.specs[0].phases and state.specs[0].phases[0].commit))
    spec = world.state.specs[0]
    run = world.open(jobs.StartRun, "phase/a/p2")
    assert run.commit == spec.phases[0].commit == spec.tip != BASE


@pytest.mark.req("build-schedule")
def test_a_merge_is_asked_for_with_the_commands_of_all_that_is_merged() -> None:
    world = approved({"a": [], "b": ["a"]})
    world.go(
        until=lambda s: any(isinstance(x, jobs.MergeSpec) and x.tip.spec == "b" for x in s.open)
    )
    merge = world.open(jobs.MergeSpec, "b")
    assert merge.commands == ("make test",) and merge.onto == world.state.integration


@pytest.mark.req("build-schedule")
@pytest.mark.parametrize(
    ("kind", "artifact"), [("spec", None), ("spec", phase_of("p1")), ("spec", spec_of("other"))]
)
def test_a_run_that_ends_without_what_it_owes_has_failed(kind: str, artifact: Any) -> None:
    world = approved({"a": []})
    world.tell(world.answer(world.open(jobs.PrepareBase, "a")))
    run = world.open(jobs.StartRun, "spec/a")
    world.tell(facts.RunReturned(key=run.key, outcome="made", artifact=artifact))
    assert world.open(jobs.StartRun, "spec/a").attempt == 2
    assert "owed" in world.state.specs[0].specifying.reports[0]


@pytest.mark.req("build-schedule")
def test_a_brief_build_codes_its_one_phase_and_merges_it() -> None:
    world = BuildWorld(plan_of({"unused": []}))
    world.begin(facts.BuildOptions(size="brief"), brief=phase_of("fix", "pytest -q"))
    world.go()
    assert world.state.ended == "completed"
    kinds = [x.step.kind for x in world.wished if isinstance(x, jobs.StartRun)]
    assert kinds == ["code"]


@pytest.mark.req("build-nothing")
def test_that_nothing_had_to_be_done_is_said_and_then_judged() -> None:
    world = approved({"a": []})
    to_code(world, "a")
    run = world.open(jobs.StartRun, "code/a/p1")
    world.tell(facts.RunReturned(key=run.key, outcome="made", artifact=done(nothing_to_do=True)))
    check = world.open(jobs.Check, "code/a/p1")
    world.tell(facts.Checked(key=check.key, passed=True, commit=check.commit, unchanged=True))
    review = world.open(jobs.Check, "code/a/p1")
    assert review.judged and review.for_judge and review.key != check.key
    world.tell(world.answer(review))
    phase = world.state.specs[0].phases[0]
    assert phase.unchanged and phase.commit == BASE
    assert world.open(jobs.StartRun, "phase/a/p2").commit == BASE


@pytest.mark.req("build-nothing")
def test_an_empty_change_that_nobody_spoke_of_is_a_failure() -> None:
    world = approved({"a": []})
    to_code(world, "a")
    world.tell(world.answer(world.open(jobs.StartRun, "code/a/p1")))
    check = world.open(jobs.Check, "code/a/p1")
    world.tell(facts.Checked(key=check.key, passed=True, commit=check.commit, unchanged=True))
    assert world.open(jobs.StartRun, "code/a/p1").attempt == 2
    (report,) = world.state.specs[0].phases[0].coding.reports
    assert "complete_task with nothing_to_do" in report


@pytest.mark.req("build-nothing")
def test_a_judge_who_finds_work_undone_sends_it_back() -> None:
    world = approved({"a": []})
    to_code(world, "a")
    run = world.open(jobs.StartRun, "code/a/p1")
    world.tell(facts.RunReturned(key=run.key, outcome="made", artifact=done(nothing_to_do=True)))
    check = world.open(jobs.Check, "code/a/p1")
    world.tell(facts.Checked(key=check.key, passed=True, commit=check.commit, unchanged=True))
    review = world.open(jobs.Check, "code/a/p1")
    world.tell(facts.Checked(key=review.key, passed=False, report="Not met: there is no file."))
    assert world.open(jobs.StartRun, "code/a/p1").attempt == 2
    assert world.state.specs[0].phases[0].coding.reports == ("Not met: there is no file.",)


@pytest.mark.req("build-nothing")
def test_a_run_that_changed_something_is_taken_at_its_work_whatever_it_says() -> None:
    world = approved({"a": []})
    to_code(world, "a")
    run = world.open(jobs.StartRun, "code/a/p1")
    world.tell(facts.RunReturned(key=run.key, outcome="made", artifact=done(nothing_to_do=True)))
    world.tell(world.answer(world.open(jobs.Check, "code/a/p1")))
    phase = world.state.specs[0].phases[0]
    assert phase.commit and not phase.unchanged


@pytest.mark.req("build-budget")
def test_what_a_validator_said_reaches_the_next_attempt_until_there_are_none_left() -> None:
    world = approved({"a": []}, attempts=3)
    to_code(world, "a")
    for number, report in enumerate(["missing import", "wrong result", "still wrong"], 1):
        assert world.open(jobs.StartRun, "code/a/p1").attempt == number
        fail_code(world, "a", report)
    spec = world.state.specs[0]
    assert spec.status == "failed" and spec.reason == "code/a/p1: 3 attempts failed"
    assert spec.phases[0].coding.reports == ("missing import", "wrong result", "still wrong")
    assert world.state.stalled == "a failed: code/a/p1: 3 attempts failed"
    assert world.state.open == () and world.state.ended is None


@pytest.mark.req("build-budget")
def test_the_same_failure_in_other_numbers_is_the_same_failure() -> None:
    world = approved({"a": []}, attempts=50)
    to_code(world, "a")
    for n in range(3):
        fail_code(world, "a", f"1 failed in {n}.2{n}s at 0x7f{n}e55a1 in /tmp/wt-{n}/x.py:{n}")
    assert world.state.specs[0].reason == "code/a/p1: the same failure came 3 times"


@pytest.mark.req("build-budget")
def test_the_runs_of_a_build_are_bounded() -> None:
    world = approved({"a": []}, runs=2)
    world.go()
    assert world.state.runs == 2 and world.state.ended is None
    assert "as many runs" in world.state.stalled and failed_work(world.state) == ("",)
    world.tell(facts.RetryRequested(by="me"))
    assert world.state.stalled == "" and world.open(jobs.StartRun)


@pytest.mark.req("build-budget")
def test_a_person_can_have_failed_work_tried_again_with_a_hint() -> None:
    world = approved({"a": [], "b": ["a"]}, attempts=1)
    to_code(world, "a")
    fail_code(world, "a", "no")
    assert statuses(world) == {"a": "failed", "b": "blocked"}
    assert failed_work(world.state) == ("a",)
    world.tell(facts.RetryRequested(spec="a", hint="Use tabs.", by="me"))
    assert world.state.specs[0].phases[0].coding.reports == ("no", "A person says: Use tabs.")
    assert statuses(world)["b"] == "waiting"
    world.go()
    assert world.state.ended == "completed"


@pytest.mark.req("build-blocked")
def test_what_depends_on_a_failure_is_blocked_and_the_rest_goes_on() -> None:
    world = approved({"a": [], "b": ["a"], "c": ["b"], "d": []}, attempts=1, parallel=1)
    to_code(world, "a")
    fail_code(world, "a", "no")
    world.go()
    assert statuses(world) == {"a": "failed", "b": "blocked", "c": "blocked", "d": "done"}
    b, c = world.state.specs[1], world.state.specs[2]
    assert b.reason == "it depends on a, which failed (code/a/p1: 1 attempt failed)"
    assert c.reason == "it depends on b, which is blocked itself"
    assert world.state.ended is None and world.state.stalled.startswith("a failed:")


@pytest.mark.req("build-blocked")
def test_a_plan_that_cannot_be_made_stalls_the_build() -> None:
    world = world_of({"a": []}, attempts=2)
    for _ in range(2):
        run = world.open(jobs.StartRun, "plan")
        world.tell(facts.RunReturned(key=run.key, outcome="failed", detail="turn limit"))
    assert world.state.stalled.startswith("there is no plan")


@pytest.mark.req("build-blocked")
def test_a_cancelled_build_ends_every_run_under_way() -> None:
    world = approved({"a": [], "b": []})
    world.tell(world.answer(world.open(jobs.PrepareBase, "a")))
    run = world.open(jobs.StartRun, "spec/a")
    wishes = world.tell(facts.BuildCancelRequested(reason="Enough.", by="me"))
    assert [x.key for x in wishes if isinstance(x, jobs.CancelRun)] == [run.key]
    assert wishes[-1].type == "FinishBuild" and world.state.open == ()


@pytest.mark.req("build-schedule")
def test_a_spec_that_collides_is_coded_again_on_top_of_what_it_collided_with() -> None:
    world = approved({"a": [], "b": []})
    world.go(until=lambda state: state.merged == ("a",))
    world.go(until=lambda s: any(isinstance(x, jobs.MergeSpec) for x in s.open))
    merge = world.open(jobs.MergeSpec, "b")
    world.tell(facts.MergeRefused(key=merge.key, cause="conflict", report="both changed x.py"))
    again = world.open(jobs.PrepareBase, "b")
    assert [tip.spec for tip in again.tips] == ["a"]
    spec = world.state.specs[1]
    assert spec.basis == ("a",) and all(p.phase and not p.commit for p in spec.phases)
    assert all("both changed x.py" in p.coding.reports for p in spec.phases)
    world.go(until=lambda s: any(isinstance(x, jobs.MergeSpec) for x in s.open))
    merge = world.open(jobs.MergeSpec, "b")
    world.tell(facts.MergeRefused(key=merge.key, cause="conflict", report="both changed y.py"))
    assert world.state.specs[1].status == "failed"
    assert "its merge was refused: both changed y.py" in world.state.stalled


@pytest.mark.req("build-revision")
def test_a_revision_ends_what_is_under_way_for_a_change_and_rebuilds_the_branch() -> None:
    graph: dict[str, Any] = {"a": [], "b": ["a"], "c": []}
    world = approved(graph)
    world.go(until=lambda state: len(state.merged) == 2)
    assert set(world.state.merged) == {"a", "c"}
    world.tell(world.answer(world.open(jobs.PrepareBase, "b")))
    running = world.open(jobs.StartRun, "spec/b")
    world.plan = plan_of(graph, a="Otherwise.")
    world.tell(facts.RevisionRequested(feedback="Otherwise.", by="me"))
    assert world.state.merged and world.open(jobs.StartRun, "spec/b") == running, "work goes on"
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    ask = world.open(jobs.AskDecision)
    digest = ask.digest
    wishes = world.tell(facts.Decided(key=ask.key, digest=digest, decision="approve", by="me"))
    assert [x.key for x in wishes if isinstance(x, jobs.CancelRun)] == [running.key]
    rebuild = world.open(jobs.RebuildIntegration)
    assert [tip.spec for tip in rebuild.tips] == ["c"] and rebuild.base == BASE
    assert [x.spec.name for x in world.state.archive] == ["a", "b"]
    assert world.tell(world.answer(running)) == (), "too late"
    assert statuses(world) == {"a": "waiting", "b": "waiting", "c": "done"}
    world.go()
    assert world.state.ended == "completed"
    assert [s.generation for s in world.state.specs] == [2, 2, 0]


@pytest.mark.req("build-revision")
def test_a_revision_that_is_rejected_leaves_the_work_as_it_is() -> None:
    world = approved({"a": []})
    world.tell(facts.RevisionRequested(feedback="More.", by="me"))
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    before = world.state.specs
    ask = world.open(jobs.AskDecision)
    digest = ask.digest
    world.tell(facts.Decided(key=ask.key, digest=digest, decision="reject", by="me", reason="No."))
    assert world.state.specs == before and world.state.ended is None
    world.go()
    assert world.state.ended == "completed"


@pytest.mark.req("build-revision")
@pytest.mark.parametrize(("value", "gone"), [("x", set()), ("y", {"a", "b"})])
def test_a_constant_that_changes_makes_everything_invalid(value: str, gone: set[str]) -> None:
    from artificer.artifacts.plan import Constant

    graph: dict[str, Any] = {"a": [], "b": []}
    world = BuildWorld(plan_of(graph).replace(constants=(Constant(name="N", value="x"),)))
    world.begin(facts.BuildOptions(size="small"))
    world.go(until=lambda state: len(state.merged) == 1)
    added = (Constant(name="N", value=value), Constant(name="M", value="1"))
    world.plan = plan_of(graph).replace(constants=added)
    world.tell(facts.RevisionRequested(feedback="Another value.", by="me"))
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    world.approve()
    assert {x.spec.name for x in world.state.archive} == gone


@pytest.mark.req("build-passes")
@pytest.mark.parametrize(
    ("size", "passes"),
    [
        ("small", ["draft"]),
        ("medium", ["draft", "completeness", "final"]),
        ("large", ["draft", "completeness", "feasibility", "ordering", "final"]),
    ],
)
def test_a_plan_counts_after_as_many_passes_as_its_size_is_worth(
    size: Any, passes: list[str]
) -> None:
    world = BuildWorld(plan_of({"a": []}))
    world.begin(facts.BuildOptions(size=size))
    reviews = []
    while runs := [x for x in world.state.open if isinstance(x, jobs.StartRun)]:
        reviews.append(runs[0].review)
        world.tell(world.answer(runs[0]))
    assert reviews == passes
    assert world.open(jobs.AskDecision)


@pytest.mark.req("build-passes")
def test_a_pass_that_fails_is_repeated_and_what_was_made_before_is_kept() -> None:
    world = BuildWorld(plan_of({"a": []}))
    world.begin(facts.BuildOptions(size="medium"))
    world.tell(world.answer(world.open(jobs.StartRun)))
    run = world.open(jobs.StartRun)
    assert run.review == "completeness"
    world.tell(facts.RunReturned(key=run.key, outcome="failed", detail="turn limit"))
    assert world.open(jobs.StartRun).review == "completeness"
    assert world.state.draft == world.plan


@pytest.mark.req("build-passes")
def test_a_judge_has_the_last_word_before_an_artifact_counts() -> None:
    world = approved({"a": []}, judge=("spec",))
    world.tell(world.answer(world.open(jobs.PrepareBase, "a")))
    world.tell(world.answer(world.open(jobs.StartRun, "spec/a")))
    check = world.open(jobs.Check, "spec/a")
    world.tell(facts.Checked(key=check.key, passed=False, report="Criterion 2 is not met."))
    again = world.open(jobs.StartRun, "spec/a")
    assert world.state.specs[0].specifying.reports == ("Criterion 2 is not met.",)
    world.tell(world.answer(again))
    world.tell(world.answer(world.open(jobs.Check, "spec/a")))
    assert world.state.specs[0].status == "building"


@pytest.mark.req("build-replay")
def test_every_fact_and_the_state_can_be_stored_and_read_back() -> None:
    from artificer.builds.state import BuildState

    world = approved({"a": [], "b": ["a"]})
    world.go(until=lambda state: bool(state.merged))
    reader: ValueReader[facts.Fact] = ValueReader(facts.Fact, "the fact")
    for fact in world.log:
        assert reader.read(fact.canonical()) == fact
    again = BuildState.read(world.state.canonical())
    assert again == world.state and again.digest == world.state.digest


@pytest.mark.req("build-approval")
def test_an_old_decision_does_not_count_when_the_same_plan_is_made_again() -> None:
    world = world_of({"a": []})
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    first = world.open(jobs.AskDecision)
    world.tell(facts.Decided(key=first.key, digest=first.digest, decision="iterate", by="me"))
    world.tell(world.answer(world.open(jobs.StartRun, "plan")))
    again = world.open(jobs.AskDecision)
    assert again.digest == first.digest and again.key != first.key
    old = facts.Decided(key=first.key, digest=first.digest, decision="approve", by="me")
    assert world.tell(old) == () and world.state.plan is None


@pytest.mark.req("build-schedule", "build-budget")
def test_what_is_tried_again_waits_for_its_turn_and_goes_on_from_where_it_was() -> None:
    world = approved({"a": [], "b": []}, attempts=1, parallel=1)
    to_code(world, "a")
    world.tell(world.answer(world.open(jobs.StartRun, "code/a/p1")))
    world.tell(world.answer(world.open(jobs.Check, "code/a/p1")))
    world.tell(world.answer(world.open(jobs.StartRun, "phase/a/p2")))
    tip = world.state.specs[0].tip
    fail_code(world, "a", "no")
    assert statuses(world) == {"a": "failed", "b": "preparing"}
    world.tell(facts.RetryRequested(spec="a", by="me"))
    assert statuses(world) == {"a": "waiting", "b": "preparing"}
    world.go(until=lambda state: state.merged == ("b",))
    assert world.open(jobs.StartRun, "code/a/p2").commit == tip
    world.go()
    assert world.state.ended == "completed"

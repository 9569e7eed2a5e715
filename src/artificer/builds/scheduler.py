"""The scheduler: ``schedule(state, fact) -> (state, jobs)``. No I/O, no clock, no randomness.

A fact changes the state; then :func:`_advance` inspects the whole state and opens every job that is
due. A spec starts when all its dependencies are merged, up to the limit of parallel specs. There is
one merge at a time. Specs that depend on a failed one are blocked with that reason. Only facts of
validators complete a step.
"""

from __future__ import annotations

from artificer.artifacts.dependencies import order
from artificer.builds.facts import Fact
from artificer.builds.handlers import HANDLERS
from artificer.builds.jobs import (
    AskConsent,
    AskDecision,
    FinishBuild,
    Job,
    MergeSpec,
    RebuildIntegration,
    StepId,
)
from artificer.builds.state import ACTIVE, BuildState, SpecState, artifact_digest, consents_of
from artificer.builds.table import StepKind
from artificer.builds.transition import Transition

PLAN = StepId(kind="plan")


def schedule(state: BuildState, fact: Fact) -> tuple[BuildState, tuple[Job, ...]]:
    """Return the state after a fact, and the new jobs.

    A fact without an open job, or after the end, changes nothing.
    """
    if state.ended is not None:
        return state, ()
    transition = Transition(state)
    if not HANDLERS[type(fact)](transition, fact):
        return state, ()
    _advance(transition)
    return transition.state, tuple(transition.jobs)


def question_of(state: BuildState) -> AskDecision | None:
    """Return the open question about a plan."""
    return next((job for job in state.open if isinstance(job, AskDecision)), None)


def open_questions(state: BuildState) -> list[AskDecision | AskConsent]:
    """Return what a person has to decide: about the plan first, then about changes."""
    plan = question_of(state)
    return [*([plan] if plan is not None else []), *consents_of(state)]


def failed_work(state: BuildState) -> tuple[str, ...]:
    """Return what a stalled build is retried at: the specs that failed, and an empty name for the
    plan, or for all of it when no run is left."""
    if not state.stalled or state.ended is not None:
        return ()
    failed = failed_specs(state)
    return ("", *failed) if needs_retry(state) else failed


def failed_specs(state: BuildState) -> tuple[str, ...]:
    """Return the names of the specs that failed."""
    return tuple(spec.name for spec in state.specs if spec.status == "failed")


def needs_retry(state: BuildState) -> bool:
    """Whether the plan failed, or no run is left: what a retry without a spec is for."""
    return state.planning.doing == "exhausted" or state.runs >= state.options.runs


def revision_fault(state: BuildState) -> str:
    """Return why no other plan can be requested now, or ""."""
    if state.plan is None:
        return "No plan is approved yet."
    if state.proposal is not None:
        return "Another plan waits for a decision already."
    if state.planning.doing == "exhausted":
        return "The plan that was requested before failed, and can be retried."
    return "" if state.planning.doing == "off" else "Another plan is being made already."


def retry_fault(state: BuildState, name: str) -> str:
    """Return why a spec cannot be retried now, or ""."""
    return "" if not name or name in failed_specs(state) else f"No spec {name!r} has failed."


def decision_on(state: BuildState, digest: str) -> AskDecision | str:
    """Return the open question about the plan with this digest, or why there is none."""
    for job in state.open:
        if isinstance(job, AskDecision) and job.digest == digest:
            return job
    if state.plan is not None and artifact_digest(state.plan) == digest:
        return "This plan is approved already."
    if state.proposal is None:
        return "No plan waits for a decision."
    return f"Another plan waits for a decision: {artifact_digest(state.proposal)}."


# --- what is due ------------------------------------------------------------------------------


def _advance(transition: Transition) -> None:
    if transition.state.ended is None:
        transition.start_run(PLAN, None, transition.state.integration)
        if transition.state.rebuilding:
            _rebuild(transition)
        for name in order(transition.state.graph):
            _advance_spec(transition, name)
        if _is_complete(transition.state):
            transition.update(ended="completed")
    transition.update(stalled=_why_stalled(transition.state))
    if transition.state.ended is not None:
        for job in transition.state.open:
            transition.drop_job(job, transition.state.reason or "The build is over.")
        status, reason = transition.state.ended, transition.state.reason
        transition.jobs.append(
            FinishBuild(key=transition.key("finish"), status=status, reason=reason)
        )


def _rebuild(transition: Transition) -> None:
    state = transition.state
    if any(isinstance(job, RebuildIntegration) for job in state.open):
        return
    tips = state.tips(state.merged)
    key = transition.key("rebuild", state.wished)
    transition.open_job(RebuildIntegration(key=key, base=state.base, tips=tips))


def _advance_spec(transition: Transition, name: str) -> None:
    spec = transition.state.spec(name)
    if spec is None:
        return
    if spec.status in ("waiting", "blocked"):
        _begin(transition, spec)
    elif spec.status == "specifying":
        parent = artifact_digest(transition.state.plan) if transition.state.plan else None
        transition.start_run(StepId(kind="spec", spec=name), parent, spec.base)
    elif spec.status == "building" and (phase := spec.current) is not None:
        kind: StepKind = "code" if phase.coding.doing != "off" else "phase"
        parent = phase.digest if kind == "code" else spec.digest
        transition.start_run(StepId(kind=kind, spec=name, phase=phase.name), parent, spec.tip)
    elif spec.status in ("building", "merging"):
        _merge(transition, spec)


def _begin(transition: Transition, spec: SpecState) -> None:
    needed = [s for name in transition.state.graph[spec.name] if (s := transition.state.spec(name))]
    broken = [s for s in needed if s.status in ("failed", "blocked")]
    if broken:
        what = "; ".join(f"it depends on {s.name}, which {_ended(s)}" for s in broken)
        transition.set_spec(spec, status="blocked", reason=what)
        return
    if spec.status == "blocked":
        spec = transition.set_spec(spec, status="waiting", reason="")
    active = sum(s.status in ACTIVE for s in transition.state.specs)
    ready = all(s.status == "done" for s in needed) and not transition.state.rebuilding
    if not ready or active >= transition.state.options.parallel:
        return
    if not spec.base:
        transition.prepare(spec, everything=spec.collided)
    else:  # a retry, from its earlier base
        transition.set_spec(spec, status="building" if spec.phases else "specifying")
        _advance_spec(transition, spec.name)


def _ended(spec: SpecState) -> str:
    return f"failed ({spec.reason})" if spec.status == "failed" else "is blocked itself"


def _merge(transition: Transition, spec: SpecState) -> None:
    """Merge a spec whose phases are all done, if no other merge is in progress."""
    if spec.status != "merging":
        spec = transition.set_spec(spec, status="merging")
    state = transition.state
    busy = any(isinstance(job, MergeSpec) for job in state.open)
    if busy or state.rebuilding:
        return
    merged = [s for name in (*state.merged, spec.name) if (s := state.spec(name))]
    tip = state.replace(merged=(spec.name,)).tips([spec.name])[0]
    key = transition.key("merge", state.wished, spec.name)
    commands = tuple(dict.fromkeys(line for s in merged for line in s.commands))
    transition.open_job(MergeSpec(key=key, tip=tip, onto=state.integration, commands=commands))


def _is_complete(state: BuildState) -> bool:
    busy = state.open or state.rebuilding or state.planning.doing != "off"
    return bool(state.specs) and not busy and all(s.status == "done" for s in state.specs)


def _why_stalled(state: BuildState) -> str:
    """Return why only a person can continue the build, or "" while it continues on its own."""
    if state.open or state.ended is not None or not state.build:
        return ""
    if state.planning.doing == "exhausted":
        return f"there is no plan: {state.planning.why(state.options.repeats)}"
    if state.runs >= state.options.runs:
        return f"it has started as many runs as it may: {state.options.runs}"
    failed = [f"{s.name} failed: {s.reason}" for s in state.specs if s.status == "failed"]
    return "; ".join(failed)

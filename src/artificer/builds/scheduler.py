"""The scheduler: ``schedule(state, fact) -> (state, wishes)``. No I/O, no clock, no randomness.

A fact changes the state; then :func:`_advance` looks at the whole of it and wishes for everything
that is due. Specs begin when all they depend on is merged, as many at once as is allowed; one
merge at a time; what depends on a failure is blocked, with that reason. Only facts of validators
make anything done.
"""

from __future__ import annotations

from artificer.artifacts.dependencies import order
from artificer.builds.facts import Fact
from artificer.builds.handlers import HANDLERS
from artificer.builds.jobs import (
    AskDecision,
    FinishBuild,
    MergeSpec,
    RebuildIntegration,
    StepId,
    Wish,
)
from artificer.builds.state import ACTIVE, BuildState, SpecState, artifact_digest
from artificer.builds.table import LoopKind
from artificer.builds.transition import Move

PLAN = StepId(kind="plan")


def schedule(state: BuildState, fact: Fact) -> tuple[BuildState, tuple[Wish, ...]]:
    """Return the state after a fact, and what is wished for because of it.

    A fact that answers no open wish, and one that comes after the end, change nothing.
    """
    if state.ended is not None:
        return state, ()
    move = Move(state)
    if not HANDLERS[type(fact)](move, fact):
        return state, ()
    _advance(move)
    return move.state, tuple(move.wishes)


def question_of(state: BuildState) -> AskDecision | None:
    """The open question about a plan."""
    return next((wish for wish in state.open if isinstance(wish, AskDecision)), None)


def asked_about(state: BuildState, digest: str) -> AskDecision | str:
    """The open question about the plan with this digest, or why nobody can decide about it now."""
    for wish in state.open:
        if isinstance(wish, AskDecision) and wish.digest == digest:
            return wish
    if state.plan is not None and artifact_digest(state.plan) == digest:
        return "This plan is approved already."
    if state.proposal is None:
        return "No plan waits for a decision."
    return f"Another plan waits for a decision: {artifact_digest(state.proposal)}."


# --- what is due ------------------------------------------------------------------------------


def _advance(move: Move) -> None:
    if move.state.ended is None:
        move.start(PLAN, None, move.state.integration)
        if move.state.rebuilding:
            _rebuild(move)
        for name in order(move.state.graph):
            _advance_spec(move, name)
        if _is_complete(move.state):
            move.set(ended="completed")
    move.set(stalled=_why_stalled(move.state))
    if move.state.ended is not None:
        for wish in move.state.open:
            move.drop(wish, move.state.reason or "The build is over.")
        status, reason = move.state.ended, move.state.reason
        move.wishes.append(FinishBuild(key=move.key("finish"), status=status, reason=reason))


def _rebuild(move: Move) -> None:
    state = move.state
    if any(isinstance(wish, RebuildIntegration) for wish in state.open):
        return
    tips = state.tips(state.merged)
    key = move.key("rebuild", state.wished)
    move.wish(RebuildIntegration(key=key, base=state.base, tips=tips))


def _advance_spec(move: Move, name: str) -> None:
    spec = move.state.spec(name)
    if spec is None:
        return
    if spec.status in ("waiting", "blocked"):
        _begin(move, spec)
    elif spec.status == "specifying":
        parent = artifact_digest(move.state.plan) if move.state.plan else None
        move.start(StepId(kind="spec", spec=name), parent, spec.base)
    elif spec.status == "building" and (phase := spec.current) is not None:
        kind: LoopKind = "code" if phase.coding.doing != "off" else "phase"
        parent = phase.digest if kind == "code" else spec.digest
        move.start(StepId(kind=kind, spec=name, phase=phase.name), parent, spec.tip)
    elif spec.status in ("building", "merging"):
        _merge(move, spec)


def _begin(move: Move, spec: SpecState) -> None:
    needed = [s for name in move.state.graph[spec.name] if (s := move.state.spec(name))]
    broken = [s for s in needed if s.status in ("failed", "blocked")]
    if broken:
        what = "; ".join(f"it depends on {s.name}, which {_ended(s)}" for s in broken)
        move.set_spec(spec, status="blocked", reason=what)
        return
    if spec.status == "blocked":
        spec = move.set_spec(spec, status="waiting", reason="")
    active = sum(s.status in ACTIVE for s in move.state.specs)
    ready = all(s.status == "done" for s in needed) and not move.state.rebuilding
    if not ready or active >= move.state.options.parallel:
        return
    if not spec.base:
        move.prepare(spec, everything=spec.collided)
    else:  # it is tried again, from where it was
        move.set_spec(spec, status="building" if spec.phases else "specifying")
        _advance_spec(move, spec.name)


def _ended(spec: SpecState) -> str:
    return f"failed ({spec.reason})" if spec.status == "failed" else "is blocked itself"


def _merge(move: Move, spec: SpecState) -> None:
    """Merge a spec whose phases are all done, when no other merge is under way."""
    if spec.status != "merging":
        spec = move.set_spec(spec, status="merging")
    state = move.state
    busy = any(isinstance(wish, MergeSpec) for wish in state.open)
    if busy or state.rebuilding:
        return
    merged = [s for name in (*state.merged, spec.name) if (s := state.spec(name))]
    tip = state.replace(merged=(spec.name,)).tips([spec.name])[0]
    key = move.key("merge", state.wished, spec.name)
    commands = tuple(dict.fromkeys(line for s in merged for line in s.commands))
    move.wish(MergeSpec(key=key, tip=tip, onto=state.integration, commands=commands))


def _is_complete(state: BuildState) -> bool:
    busy = state.open or state.rebuilding or state.planning.doing != "off"
    return bool(state.specs) and not busy and all(s.status == "done" for s in state.specs)


def _why_stalled(state: BuildState) -> str:
    """Why only a person can get the build on, or nothing while it goes on by itself."""
    if state.open or state.ended is not None or not state.build:
        return ""
    if state.planning.doing == "exhausted":
        return f"there is no plan: {state.planning.why(state.options.repeats)}"
    if state.runs >= state.options.runs:
        return f"it has started as many runs as it may: {state.options.runs}"
    failed = [f"{s.name} failed: {s.reason}" for s in state.specs if s.status == "failed"]
    return "; ".join(failed)

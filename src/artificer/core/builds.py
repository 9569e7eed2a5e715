"""The run of a build: facts go to its scheduler, and its jobs become intents."""

from __future__ import annotations

from artificer.builds.facts import BuildCancelRequested, Fact
from artificer.builds.jobs import FinishBuild, is_run
from artificer.builds.scheduler import schedule
from artificer.builds.state import BuildState, Ending
from artificer.core import events as ev
from artificer.core.intents import AdvanceBuild, FinishReason
from artificer.core.spec import RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.steps import Step, emit
from artificer.core.turns import finish
from artificer.errors import InvariantError

_REASONS: dict[Ending, FinishReason] = {
    "completed": "done",
    "rejected": "rejected",
    "cancelled": "cancelled",
}


def begin(state: RunState, spec: RunSpec) -> Step:
    """The request is the scheduler's first fact."""
    if spec.build is None:
        raise InvariantError("The run of a build does not say what to build.")
    return advance(state.replace(phase=RunPhase.BUILDING), spec.build)


def build_advanced(state: RunState, event: ev.BuildAdvanced) -> Step:
    """Something came of a job, or someone decided."""
    cost = state.cost_micros
    if event.cost_micros is not None:
        cost = (cost or 0) + event.cost_micros
    state = state.replace(
        letters=max(state.letters, event.letter), usage=state.usage + event.usage, cost_micros=cost
    )
    return advance(state, event.fact)


def build_cancelled(state: RunState, event: ev.CancelRequested | ev.InterruptRequested) -> Step:
    """End the jobs in progress; what is merged stays where it is."""
    state = state.replace(letters=max(state.letters, event.letter))
    return advance(state, BuildCancelRequested(reason=event.reason, by=event.by))


def build_steered(state: RunState, event: ev.Steered) -> Step:
    """The active runs of the build receive the message; it sends no model requests itself.

    Where no run is active, the message is kept for those that begin later.
    """
    build = state.build
    if build is not None and not any(is_run(job) for job in build.open):
        build = build.replace(steered=(*build.steered, event.text))
    return state.replace(letters=event.letter, build=build), ()


def build_paused(state: RunState, event: ev.PauseRequested) -> Step:
    """Begin nothing new until the run is resumed."""
    return state.replace(letters=event.letter, hold="pause"), ()


def build_forked(state: RunState, event: ev.RunForked) -> Step:
    """Start the open jobs again, as jobs of this run: its own runs will answer."""
    if state.build is None:
        raise InvariantError("This run builds nothing.")
    build = state.build.replace(resting=())
    changes = {"letters": 0, "hold": None, "pending": (), "running_since": state.now}
    state = state.replace(**changes, build=build)
    jobs = enumerate(build.open)
    return emit(state, *(AdvanceBuild(n=state.next_intent + i, wish=job) for i, job in jobs))


def build_resumed(state: RunState, event: ev.RunResumed) -> Step:
    """Perform the open jobs again: a job's key ensures that it is done only once."""
    build = state.build and state.build.replace(resting=())
    return state.replace(running_since=state.now, hold=None, build=build), ()


def advance(state: RunState, fact: Fact) -> Step:
    """Pass a fact to the scheduler, and emit what follows from it."""
    build, jobs = schedule(state.build or BuildState(), fact)
    state = state.replace(build=build)
    ending = next((job for job in jobs if isinstance(job, FinishBuild)), None)
    due = [job for job in jobs if not isinstance(job, FinishBuild)]
    intents = [AdvanceBuild(n=state.next_intent + i, wish=job) for i, job in enumerate(due)]
    state, emitted = emit(state, *intents)
    open_keys = {job.key for job in build.open}
    waiting = tuple(pending for pending in state.pending if pending.call_id in open_keys)
    state = state.replace(pending=waiting)
    if ending is None:
        return state, emitted
    state, last = finish(state, _REASONS[ending.status])
    return state, (*emitted, *last)

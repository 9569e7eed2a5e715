"""The reasons for a run's status: why it ended, or what it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.builds.facts import Decided
from artificer.core import events as ev
from artificer.core.context import what_stays
from artificer.core.intents import FinishReason
from artificer.core.record import Line, events_of
from artificer.core.repeats import repeated_calls
from artificer.core.state import RunPhase, RunState
from artificer.runtime.explaining.build import why_building
from artificer.runtime.falls import MAX_FALLS, falls_of

SHOWN = 5
"""The limit on runs that are named one by one."""

_REASONS: dict[FinishReason, str] = {
    "done": "The model answered, and its answer was accepted.",
    "cancelled": "It was cancelled.",
    "context_limit": "The messages that cannot be left out are too long for the model.",
    "cost_limit": "The next reply could have exceeded the cost limit.",
    "empty_reply": "The model gave no answer, in all repair rounds.",
    "interrupted": "It was interrupted, and ended after the calls and replies in progress.",
    "model_failed": "The model's server failed in a way that another attempt cannot fix.",
    "output_limit": "The model's last reply was cut off at its output limit.",
    "refused": "The model declined to answer.",
    "rejected": "Its plan was rejected.",
    "repair_limit": "The last answer still has faults after all repair rounds.",
    "stuck": "The model made the same calls, with the same results, again and again.",
    "token_limit": "The next reply could have exceeded the token limit.",
    "tool_output_limit": "Its tools have returned as much text as its limits allow.",
    "tool_time_limit": "Its tools have taken as much time as its limits allow.",
    "turn_limit": "It has used all its turns.",
    "wall_limit": "It reached its time limit.",
}


def why_of(state: RunState, lines: Sequence[Line]) -> str:
    """Return why a run with these records stands where it does."""
    events = events_of(lines)
    if state.reason == "done" and state.build is not None:
        return "Every spec is merged, and the merged tree passes."
    if state.reason is not None:
        return _ended(state, state.reason, events)
    return _open(state, events, lines)


_OPEN = (
    "A process executes it, or it was interrupted: resuming it continues it, or names the process."
)
_FALLEN = (
    "{} processes died executing it and recorded nothing: what it does may be the cause. Workers "
    "leave it alone until somebody sends it a message or resumes it."
)
_UNCHECKED = (
    "Its last reply waits for the agent's own code, which has not decided yet: resuming it "
    "with the agent checks the reply again."
)


def why_fallen(falls: int) -> str:
    """Return why workers leave a run alone that so many processes died of."""
    return _FALLEN.format(falls)


def _open(state: RunState, events: Sequence[ev.Event], lines: Sequence[Line]) -> str:
    if state.build is not None:
        return why_building(state.build, held=state.hold is not None)
    if state.phase is RunPhase.STALLED:
        failed = [e for e in events if isinstance(e, (ev.ModelFailed, ev.CompactionFailed))][-1]
        if failed.code == "budget":
            return f"The budget is used up: {failed.message}"
        return f"The model could not be reached: {failed.code}: {failed.message}"
    if state.phase is RunPhase.PAUSED:
        paused = [e for e in events if isinstance(e, ev.PauseRequested)][-1]
        return f"A person paused it: {paused.by} {paused.reason}".rstrip(" :")
    if state.only_waits:
        return _waiting(state)
    return _going_on(state, lines)


def _going_on(state: RunState, lines: Sequence[Line]) -> str:
    if (falls := falls_of(lines)) >= MAX_FALLS:
        return why_fallen(falls)
    return _UNCHECKED if state.phase is RunPhase.CHECKING else _OPEN


def _waiting(state: RunState) -> str:
    if state.standing == "waiting":
        return "It waits for a person to answer."
    found = [f"{wait.run}, which is {wait.standing}" for wait in state.waits]
    what = f"{len(found)} runs" if len(found) > 1 else "a run"
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return f"It waits for {what} that it started: {', '.join([*found[:SHOWN], *more])}."


def _ended(state: RunState, reason: FinishReason, events: Sequence[ev.Event]) -> str:
    detail = ""
    if reason == "context_limit":
        detail = what_stays(state)
    elif reason == "stuck":
        detail = f"The last turn called {repeated_calls(state.history)}."
    for event in events:
        match event:
            case ev.BuildAdvanced(fact=Decided(reason=words)) if reason == "rejected":
                detail = words
            case ev.CancelRequested(reason=words) if reason == "cancelled":
                detail = words
            case ev.InterruptRequested(reason=words) if reason == "interrupted":
                detail = words
            case ev.ModelFailed(code=code, message=message) if reason == code:
                detail = message
            case ev.ModelFailed(code=code, message=message) if reason == "model_failed":
                detail = f"{code}: {message}"
            case _:
                pass
    return f"{_REASONS[reason]} {detail}".rstrip()

"""Explaining a run: where it stands, why, what is pending, what was refused, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from artificer.builds.facts import Decided
from artificer.builds.summary import wished
from artificer.core import events as ev
from artificer.core.context import what_stays
from artificer.core.intents import (
    AdvanceBuild,
    AskApproval,
    CallTool,
    Compact,
    FinishReason,
    Generate,
    Intent,
)
from artificer.core.record import EventLine, Line
from artificer.core.repeats import repeated_calls
from artificer.core.state import RunPhase, RunState
from artificer.ports import Question
from artificer.runtime.bindings import binding_in
from artificer.runtime.delays import retry_at
from artificer.runtime.explain_build import next_of_build, why_building
from artificer.runtime.explain_submitted import who_goes_on, worker_command, workers_go_on
from artificer.runtime.falls import MAX_FALLS, falls_of
from artificer.runtime.load import Loaded
from artificer.runtime.queued import is_queued
from artificer.runtime.turns import turns_of
from artificer.values.model import Usage

SHOWN = 5
"""The limit on refusals that are reported one by one."""


class Refusal(Struct, frozen=True):
    """Calls that did not run, for the same reason. ``turns`` are those they were made in."""

    tool: str
    verdict: str
    rule: str
    reason: str
    turns: tuple[int, ...]


class Explanation(Struct, frozen=True):
    """A run in a few facts. ``stands`` is a status, ``why`` a sentence, ``next`` commands.

    ``bound`` are the artifacts that take their numbers from a result, with its label. A ``queued``
    one was submitted, and no worker has begun it. ``retry_at`` is when workers ask the model again
    by themselves, in milliseconds since 1970.
    """

    run: str
    kind: str
    stands: str
    phase: str
    turn: int
    turn_limit: int
    records: int
    why: str
    pending: tuple[str, ...]
    refused: tuple[Refusal, ...]
    answers: dict[str, int]
    usage: Usage
    cost_micros: int | None
    origin: ev.Origin | None
    next: tuple[str, ...]
    bound: dict[str, str]
    queued: bool = False
    retry_at: int | None = None


_REASONS: dict[FinishReason, str] = {
    "done": "The model answered, and its answer was accepted.",
    "cancelled": "It was cancelled.",
    "context_limit": "What cannot be left out of the conversation is too long for the model.",
    "cost_limit": "The next reply could have exceeded the cost limit.",
    "empty_reply": "The model gave no answer, in all repair rounds.",
    "interrupted": "Somebody wanted it to end when what was under way had ended.",
    "model_failed": "The model's server failed in a way that asking again does not mend.",
    "output_limit": "The model's last reply was cut off at its output limit.",
    "refused": "The model declined to answer.",
    "rejected": "Its plan was rejected.",
    "repair_limit": "The last answer still has faults after all repair rounds.",
    "stuck": "The model made the same calls, with the same results, again and again.",
    "token_limit": "The next reply could have exceeded the token limit.",
    "tool_output_limit": "Its tools have brought as much text as they may.",
    "tool_time_limit": "Its tools have taken as much time as they may.",
    "turn_limit": "It has used all its turns.",
    "wall_limit": "Its time was over.",
}


def explain(
    loaded: Loaded, below: Sequence[Question] = (), *, for_workers: bool = False
) -> Explanation:
    """Explain a run's status from its journal.

    ``below`` are the questions of the runs that it waits for. ``for_workers`` says that workers
    execute it.
    """
    state = loaded.state
    queued = for_workers and is_queued(state.run_spec, state.standing, loaded.head.seq)
    again = retry_at(state, loaded.lines) if for_workers else None
    workers = for_workers and state.build is None and falls_of(loaded.lines) < MAX_FALLS
    turns = turns_of(loaded.lines)
    counted = Counter(call.status or "open" for turn in turns for call in turn.calls)
    return Explanation(
        run=loaded.run,
        kind=state.run_spec.kind,
        stands=state.standing,
        phase=state.phase.value,
        turn=state.turn,
        turn_limit=state.run_spec.limits.turns,
        records=loaded.head.seq,
        why=_why_submitted(loaded, again, queued=queued) if workers else _why(state, loaded.lines),
        pending=(*map(_pending, loaded.open), *_waits(state, below)),
        refused=tuple(_refusals(loaded.lines)),
        answers=dict(counted),
        usage=state.usage,
        cost_micros=state.cost_micros,
        origin=_origin(loaded.lines),
        next=tuple(_next(loaded, below, workers=workers and workers_go_on(state, again))),
        bound=dict(_bound(loaded.lines)),
        queued=queued,
        retry_at=again,
    )


def _bound(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    for event in map(_event, lines):
        if isinstance(event, ev.CallsJudged):
            yield from (found for found in map(binding_in, event.verdicts) if found)


def _why_submitted(loaded: Loaded, again: int | None, *, queued: bool) -> str:
    """Why a run that workers execute stands where it does, and who goes on with it."""
    state = loaded.state
    if state.status is not None:
        return _why(state, loaded.lines)
    who = who_goes_on(state, again, queued=queued)
    if state.standing == "open" and not state.only_waits:
        return who
    why = _why(state, loaded.lines)
    return f"{why}{'' if why.endswith(('.', '!', '?')) else '.'} {who}"


def _why(state: RunState, lines: Sequence[Line]) -> str:
    events = [e for e in map(_event, lines) if e is not None]
    if state.reason == "done" and state.build is not None:
        return "Every spec is merged, and the merged tree passes."
    if state.reason is not None:
        return _why_ended(state, state.reason, events)
    return _why_open(state, events, lines)


_OPEN = "A process drives it, or it was interrupted: resuming takes it up, or names the process."
_FALLEN = (
    "{} processes died executing it and recorded nothing: what it does may be the cause. Workers "
    "leave it alone until somebody sends it a message or resumes it."
)
_UNCHECKED = (
    "Its last reply waits for the agent's own code, which has not come to a verdict: resuming it "
    "with the agent checks the reply again."
)


def _why_open(state: RunState, events: Sequence[ev.Event], lines: Sequence[Line]) -> str:
    if state.build is not None:
        return why_building(state.build, held=state.hold is not None)
    if state.phase is RunPhase.STALLED:
        failed = [e for e in events if isinstance(e, ev.ModelFailed | ev.CompactionFailed)][-1]
        if failed.code == "budget":
            return f"The budget is used up: {failed.message}"
        return f"The model could not be reached: {failed.code}: {failed.message}"
    if state.phase is RunPhase.PAUSED:
        paused = [e for e in events if isinstance(e, ev.PauseRequested)][-1]
        return f"Somebody paused it: {paused.by} {paused.reason}".rstrip(" :")
    if state.only_waits:
        return _why_waiting(state)
    return _why_going_on(state, lines)


def _why_going_on(state: RunState, lines: Sequence[Line]) -> str:
    if (falls := falls_of(lines)) >= MAX_FALLS:
        return _FALLEN.format(falls)
    return _UNCHECKED if state.phase is RunPhase.CHECKING else _OPEN


def _why_waiting(state: RunState) -> str:
    if state.standing == "waiting":
        return "It waits for a person to answer."
    found = [f"{wait.run}, which is {wait.standing}" for wait in state.waits]
    what = f"{len(found)} runs" if len(found) > 1 else "a run"
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return f"It waits for {what} that it started: {', '.join([*found[:SHOWN], *more])}."


def _why_ended(state: RunState, reason: FinishReason, events: Sequence[ev.Event]) -> str:
    said = ""
    if reason == "context_limit":
        said = what_stays(state)
    elif reason == "stuck":
        said = f"The last turn called {repeated_calls(state.history)}."
    for event in events:
        match event:
            case ev.BuildAdvanced(fact=Decided(reason=words)) if reason == "rejected":
                said = words
            case ev.CancelRequested(reason=words) if reason == "cancelled":
                said = words
            case ev.InterruptRequested(reason=words) if reason == "interrupted":
                said = words
            case ev.ModelFailed(code=code, message=message) if reason == code:
                said = message
            case ev.ModelFailed(code=code, message=message) if reason == "model_failed":
                said = f"{code}: {message}"
            case _:
                pass
    return f"{_REASONS[reason]} {said}".rstrip()


def _event(line: Line) -> ev.Event | None:
    return line.event if isinstance(line, EventLine) else None


def _pending(intent: Intent) -> str:
    match intent:
        case Generate(turn=turn):
            return f"the model's reply of turn {turn}"
        case Compact(upto=upto):
            return f"a summary of the first {'message' if upto == 1 else f'{upto} messages'}"
        case CallTool(tool=tool, arguments=arguments, effect=effect):
            return f"the call {tool} {arguments} ({effect})"
        case AskApproval(tool=tool, arguments=arguments, reason=reason):
            return f"a person's answer: {tool} {arguments}" + (f" ({reason})" if reason else "")
        case AdvanceBuild(wish=wish):
            return wished(wish)
        case _:
            return intent.type


def _refusals(lines: Sequence[Line]) -> Iterator[Refusal]:
    """Calls that did not run, the same ones put together."""
    found: dict[tuple[str, str, str, str], list[int]] = {}
    for turn in turns_of(lines):
        for call in turn.calls:
            refused = call.verdict not in ("allow", "ask", "") or call.status == "denied"
            if refused:
                key = (call.tool, call.status, call.rule, call.reason)
                found.setdefault(key, []).append(turn.number)
    for (tool, verdict, rule, reason), numbers in found.items():
        yield Refusal(tool, verdict, rule, reason, tuple(numbers))


def _origin(lines: Sequence[Line]) -> ev.Origin | None:
    origins = [e.origin for e in map(_event, lines) if isinstance(e, ev.RunForked)]
    return origins[-1] if origins else None


def _waits(state: RunState, below: Sequence[Question]) -> Iterator[str]:
    """Yield the runs that it waits for, and what they ask."""
    for wait in state.waits:
        yield f"the run {wait.run} ({wait.standing})"
    for question in below:
        yield f"a person's answer for {question.run}: {question.tool} {question.arguments}"


def _next(loaded: Loaded, below: Sequence[Question], *, workers: bool) -> Iterator[str]:
    run, state = loaded.run, loaded.state
    if state.build is not None:
        yield from next_of_build(run, state.build)
        return
    for doubt in state.doubts:
        yield f"artificer resolve {run} {doubt.call_id}"
    if state.phase is not RunPhase.FINISHED:
        if below or any(isinstance(intent, AskApproval) for intent in loaded.open):
            yield f"artificer approve {run} --list"
        yield worker_command(state) if workers else f"artificer resume {run}"
        yield f"artificer cancel {run}"
        return
    if not turns_of(loaded.lines):  # nothing was asked: a fork has nothing to go on with
        yield "artificer run 'PROMPT' --model PROVIDER/MODEL"
    elif state.reason == "turn_limit":
        yield f"artificer fork {run} --max-turns {2 * state.run_spec.limits.turns} --steer 'Go on.'"
    elif state.reason == "stuck":
        yield f"artificer fork {run} --steer 'Try another way.'"
    elif state.failure == "max_tokens":
        yield f"artificer fork {run} --max-tokens 4096"
    elif state.reason in ("wall_limit", "output_limit", "cancelled", "interrupted"):
        yield f"artificer fork {run} --steer 'Go on.'"
    elif state.status == "completed":
        yield f"artificer open {run}"
    else:
        yield f"artificer fork {run} --model PROVIDER/MODEL"
    yield f"artificer replay {run}"

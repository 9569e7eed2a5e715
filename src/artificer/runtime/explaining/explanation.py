"""Explaining a run: its status, why, what is pending, what was refused, what to do next."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from artificer.builds.summary import job_in_words
from artificer.core import events as ev
from artificer.core.intents import (
    AdvanceBuild,
    AskApproval,
    CallTool,
    Compact,
    Generate,
    Intent,
)
from artificer.core.record import EventLine, Line
from artificer.core.state import RunPhase, RunState
from artificer.ports import Question, Storage
from artificer.runtime.abandoned import AbandonedRun, abandoned_runs
from artificer.runtime.delays import retry_at
from artificer.runtime.explaining.build import next_of_build
from artificer.runtime.explaining.resuming import resume_command
from artificer.runtime.explaining.submitted import why_submitted, worker_command, workers_go_on
from artificer.runtime.explaining.why import why_of
from artificer.runtime.listing.queued import is_for_workers, is_queued
from artificer.runtime.load import Loaded, load
from artificer.runtime.proving.bindings import binding_in
from artificer.runtime.turns import CallSummary, TurnSummary, turns_of
from artificer.runtime.waiting import questions_below
from artificer.values.model import Usage
from artificer.values.text import clip

SHOWN = 5
"""The limit on refusals that are reported one by one."""


REASON = 400
"""The limit on the characters of a refusal's reason that a tool gave."""


class Refusal(Struct, frozen=True):
    """Calls that did not run, for the same reason. ``turns`` are those they were made in.

    ``rule`` is empty where no rule refused them, but the tool or a person did.
    """

    tool: str
    verdict: str
    rule: str
    reason: str
    turns: tuple[int, ...]


class Explanation(Struct, frozen=True):
    """A run in a few facts. ``stands`` is a status, ``why`` a sentence, ``next`` commands.

    ``bound`` are the artifacts that take their numbers from a result, with its label. A ``queued``
    one was submitted, and no worker has started it. ``retry_at`` is when workers ask the model
    again by themselves, in milliseconds since 1970.
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


async def explained(storage: Storage, project_folder: Path, run: str) -> Explanation:
    """Explain a run of a world whose project has this folder.

    Raises NotFoundError, TamperedError.
    """
    loaded = await load(storage.journal, storage.blobs, run)
    below = await questions_below(storage, run, loaded.state)
    if not await is_for_workers(storage.journal, run, loaded.state.run_spec):
        return explain(loaded, below)
    abandoned = await abandoned_runs(storage, project_folder, run, loaded.state, loaded.lines)
    return explain(loaded, below, for_workers=True, abandoned=abandoned)


def explain(
    loaded: Loaded,
    below: Sequence[Question] = (),
    *,
    for_workers: bool = False,
    abandoned: Sequence[AbandonedRun] = (),
) -> Explanation:
    """Explain a run's status from its journal.

    ``below`` are the questions of the runs that it waits for. ``for_workers`` says that workers
    execute it; those ``abandoned`` of it and of the runs that it waits for they leave alone.
    """
    state = loaded.state
    queued = for_workers and is_queued(state.run_spec, state.standing, loaded.head.seq)
    queued = queued and not any(one.run == loaded.run for one in abandoned)
    again = retry_at(state, loaded.lines) if for_workers else None
    workers = for_workers and state.build is None
    goes_on = workers and not abandoned and workers_go_on(state, again)
    turns = turns_of(loaded)
    counted = Counter(call.status or "open" for turn in turns for call in turn.calls)
    return Explanation(
        run=loaded.run,
        kind=state.run_spec.kind,
        stands=state.standing,
        phase=state.phase.value,
        turn=state.turn,
        turn_limit=state.run_spec.limits.turns,
        records=loaded.head.seq,
        why=why_submitted(loaded, again, abandoned, queued=queued)
        if workers
        else why_of(state, loaded.lines),
        pending=(*map(_pending, loaded.open), *_waits(state, below)),
        refused=tuple(_refusals(turns)),
        answers=dict(counted),
        usage=state.usage,
        cost_micros=state.cost_micros,
        origin=_origin(loaded.lines),
        next=tuple(_next(loaded, below, abandoned, workers=goes_on)),
        bound=dict(_bound(loaded.lines)),
        queued=queued,
        retry_at=again,
    )


def _bound(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    for event in map(_event, lines):
        if isinstance(event, ev.CallsJudged):
            yield from (found for found in map(binding_in, event.verdicts) if found)


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
        case AdvanceBuild(wish=job):
            return job_in_words(job)
        case _:
            return intent.type


def _refusals(turns: Sequence[TurnSummary]) -> Iterator[Refusal]:
    """Calls that did not run, the same ones put together."""
    found: dict[tuple[str, str, str, str], list[int]] = {}
    for turn in turns:
        for call in turn.calls:
            refused = call.verdict not in ("allow", "ask", "") or call.status == "denied"
            if refused:
                key = (call.tool, call.status, *_refused_by(call))
                found.setdefault(key, []).append(turn.number)
    for (tool, verdict, rule, reason), numbers in found.items():
        yield Refusal(tool, verdict, rule, reason, tuple(numbers))


def _refused_by(call: CallSummary) -> tuple[str, str]:
    """Return the rule that refused a call, if one did, and why; a person or the tool may have."""
    if call.verdict not in ("allow", "ask"):
        return call.rule, call.reason
    try:
        detail = json.loads(call.result)["detail"]
    except (ValueError, TypeError, KeyError, RecursionError):
        detail = call.result
    return "", clip(str(detail), REASON)


def _origin(lines: Sequence[Line]) -> ev.Origin | None:
    origins = [e.origin for e in map(_event, lines) if isinstance(e, ev.RunForked)]
    return origins[-1] if origins else None


def _waits(state: RunState, below: Sequence[Question]) -> Iterator[str]:
    """Yield the runs that it waits for, and what they ask."""
    for wait in state.waits:
        yield f"the run {wait.run} ({wait.standing})"
    for question in below:
        yield f"a person's answer for {question.run}: {question.tool} {question.arguments}"


def _next(
    loaded: Loaded, below: Sequence[Question], abandoned: Sequence[AbandonedRun], *, workers: bool
) -> Iterator[str]:
    run, state = loaded.run, loaded.state
    if state.build is not None:
        yield from next_of_build(run, state.build)
        return
    for doubt in state.doubts:
        yield f"artificer resolve {run} {doubt.call_id}"
    if state.phase is RunPhase.FINISHED:
        yield from _next_of_finished(loaded)
        return
    if below or any(isinstance(intent, AskApproval) for intent in loaded.open):
        yield f"artificer approve {run} --list"
    left = [one.run for one in abandoned]
    yield from (f"artificer explain {one}" for one in left[:SHOWN] if one != run)
    if workers:
        yield worker_command(state)
    elif (run in left or not left) and (command := resume_command(run, state.run_spec)):
        yield command
    yield f"artificer cancel {run}"


def _next_of_finished(loaded: Loaded) -> Iterator[str]:
    run, state = loaded.run, loaded.state
    if not turns_of(loaded):  # nothing was asked: a fork has nothing to continue with
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

"""Facts that need no outside data: verdicts, checked replies, the deliverable.

They are computed here once and recorded in events. A replay computes them again and reports a
difference, but continues from what was recorded (invariant 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct

from artificer.artifacts.build_catalog import tool_of
from artificer.artifacts.deliverable import (
    Deliverable,
    blocking,
    dangling,
    examine,
    keeps,
    repair_request,
)
from artificer.artifacts.ref import DeliverableStatus, Finding
from artificer.builds.summary import summary_of
from artificer.core import events as ev
from artificer.core.context import what_stays
from artificer.core.gate import cut_off, judge
from artificer.core.intents import CheckReply, Finish, FinishReason, Intent, JudgeCalls
from artificer.core.kinds import KINDS
from artificer.core.policy import Consult, Occasion
from artificer.core.repeats import repeated_calls
from artificer.core.reports import EMPTY, check_report, conclude_report
from artificer.core.rules import keeps_reports, since
from artificer.core.sources import labels_for
from artificer.core.state import RunState
from artificer.errors import InvariantError
from artificer.values.base import Problem
from artificer.values.canon import digest_of
from artificer.values.refusal import not_ok

_NOTES: dict[FinishReason, str] = {
    "done": "",
    "cancelled": "Cancelled before it was finished.",
    "context_limit": "The conversation is longer than the model can read.",
    "cost_limit": "Stopped before the next reply could exceed the run's cost limit.",
    "empty_reply": "The model gave no answer.",
    "interrupted": "Interrupted before it was finished.",
    "model_failed": "The model could not answer.",
    "output_limit": "The model's last reply was cut off at its output limit.",
    "refused": "The model declined to answer.",
    "rejected": "The plan was rejected.",
    "repair_limit": "The last answer still has faults after all repair rounds.",
    "stuck": "Stopped: the model made the same calls, with the same results, again and again.",
    "token_limit": "Stopped before the next reply could exceed the run's token limit.",
    "tool_output_limit": "Stopped: its tools have brought as much text as they may.",
    "tool_time_limit": "Stopped: its tools have taken as much time as they may.",
    "turn_limit": "Stopped at the run's turn limit, before it was finished.",
    "wall_limit": "Stopped at the run's time limit, before it was finished.",
}

_FAILURES: dict[str, str] = {
    "context_overflow": "The conversation is longer than the model can read.",
    "bad_request": "The model's server refused the request.",
    "invalid_call": "The model's server refused its tool calls, also after all repair rounds.",
    "malformed_response": "The model's server answered with something that cannot be read.",
    "max_tokens": "The model's server refused replies as long as max_tokens. Begin the run with"
    " --max-tokens, or say in artificer.toml what the model can write:"
    ' [limits.models."provider/model"] max_tokens = …',
    "stream_truncated": "The model's answers broke off, again and again.",
}
"""The reasons of model failures that need more detail than ``model_failed``."""

WHOLE = "the reply"
"""The subject of a finding that has no pointer."""

_UNFIT = "The last reply is still not the JSON that was asked for, after all repair rounds."
_NOT_JSON = (
    "Your reply is not the JSON that was asked for: {}. Correct all of them and write the whole "
    "JSON again, with no word and no code fence around it."
)
_NOT_ACCEPTED = "Your reply is not accepted: {}. Write a corrected reply in full."
_REJECTED = "The last reply still does not pass its check, after all repair rounds."


class OutputCheck(Protocol):
    """The agent's own code that checks final replies."""

    async def problems(self, text: str) -> tuple[Problem, ...]:
        """Return the violations of a reply, none if it is accepted."""

    async def value(self, text: str) -> Any:
        """Return the value that an accepted reply stands for."""


class Judges(Struct, frozen=True):
    """The judges of facts in addition to our own rules.

    ``consult`` asks the run's Cedar policies, ``check`` the agent's own code about a final reply;
    ``checked`` is the answer to that, for the one reply that :func:`reply_to_check` returned.
    ``sources`` is the data of the results that the calls to be judged cite, by label
    (:func:`artificer.core.sources.cited_in`).
    """

    consult: Consult | None = None
    check: OutputCheck | None = None
    checked: tuple[Problem, ...] = ()
    sources: Mapping[str, bytes] = MappingProxyType({})


def establish(
    state: RunState,
    intent: Intent,
    at: int,
    judges: Judges | None = None,
) -> tuple[ev.Event, bytes | None]:
    """Perform an inline intent: return its event, and the deliverable's bytes if it makes one."""
    judges = judges or Judges()
    match intent:
        case JudgeCalls():
            return _judge_calls(state, intent, at, judges), None
        case CheckReply():
            return _check_reply(state, intent, at, judges.checked), None
        case Finish():
            body = conclude(state, intent.reason)
            data = body.canonical()
            return ev.RunFinished(
                at=at, intent=intent.n, status=body.status, deliverable=digest_of(data)
            ), data
        case _:
            raise InvariantError(f"{intent.type} needs the world to be performed.")


def _judge_calls(state: RunState, intent: JudgeCalls, at: int, judges: Judges) -> ev.CallsJudged:
    spec = state.run_spec
    calls = state.history[-1].calls
    if state.stop == "max_tokens" and since(spec, 2):
        refused = cut_off(calls, state.request().max_tokens)
        return ev.CallsJudged(at=at, intent=intent.n, verdicts=refused)
    verdicts = judge(
        calls,
        toolset=spec.tools(),
        policy=spec.policy,
        made=state.artifacts,
        limit=spec.limits.calls,
        stop=state.stop or "end_turn",
        occasion=Occasion(
            spec.kind,
            spec.full_name,
            state.taint,
            state.history,
            spec.rules,
            labels_for(calls, state.sources),
            judges.sources,
        ),
        consult=judges.consult,
    )
    return ev.CallsJudged(at=at, intent=intent.n, verdicts=verdicts)


def reply_to_check(state: RunState) -> str | None:
    """Return the reply that the agent's own code has to check; None if it need not."""
    if not state.run_spec.checked_by or state.stop == "max_tokens":
        return None
    last = state.history[-1]
    text = last.text if last.role == "assistant" else ""
    wanted = state.run_spec.response_format
    if wanted is None:
        return text if text.strip() else None
    narrative, problems = wanted.validate(text, formats=since(state.run_spec, 2))
    return None if problems else narrative


def _check_reply(
    state: RunState, intent: CheckReply, at: int, checked: tuple[Problem, ...]
) -> ev.ReplyChecked:
    """Decide which text is kept, and what to ask for when it cannot be delivered yet.

    A kept narrative is only replaced by one that keeps its citations (invariant 8).
    """
    last = state.history[-1]
    text = last.text if last.role == "assistant" else ""
    if state.run_spec.response_format is not None or state.run_spec.output_check:
        return _check_output(state, text, intent, at, checked)
    if keeps_reports(state.run_spec):
        return check_report(state, intent, at)
    kept, rejected = state.narrative or "", None
    if kept and text and text != kept:
        rejected = keeps(kept, text, state.artifacts)
    revised = bool(text) and rejected is None
    kept = text if revised else kept
    required = KINDS[state.run_spec.kind].delivers
    if required is not None and not any(ref.kind == required for ref in state.artifacts):
        request = (
            f"You still owe a {required}: call {tool_of(required)}. Only that call delivers it."
        )
        return ev.ReplyChecked(at=at, intent=intent.n, narrative=kept, request=request)
    if not kept.strip() and not state.artifacts:
        return ev.ReplyChecked(at=at, intent=intent.n, narrative="", request=EMPTY)
    if state.run_spec.kind != "deliver":
        return ev.ReplyChecked(at=at, intent=intent.n, narrative=kept, revised=revised)
    examined = examine(kept, state.artifacts)
    faults = blocking(examined.findings)
    return ev.ReplyChecked(
        at=at,
        intent=intent.n,
        narrative=examined.narrative,
        findings=examined.findings,
        request=repair_request(faults) if faults else None,
        rejected=rejected,
        revised=revised,
    )


def _check_output(
    state: RunState, text: str, intent: CheckReply, at: int, checked: tuple[Problem, ...]
) -> ev.ReplyChecked:
    """Check a reply against its format and by the agent's own code; all violations go back at once.

    One that was cut off ends the run: that it reads as JSON would prove nothing.
    """
    if state.stop == "max_tokens":
        return ev.ReplyChecked(at=at, intent=intent.n, narrative=text, revised=True)
    wanted = state.run_spec.response_format
    if wanted is None:
        if not text.strip():
            return ev.ReplyChecked(at=at, intent=intent.n, narrative="", request=EMPTY)
        return _answered(intent, at, text, checked, _NOT_ACCEPTED.format(_count(checked)))
    narrative, problems = wanted.validate(text, formats=since(state.run_spec, 2))
    problems = problems or checked
    return _answered(intent, at, narrative, problems, _NOT_JSON.format(_count(problems)))


def _answered(
    intent: CheckReply, at: int, narrative: str, problems: tuple[Problem, ...], detail: str
) -> ev.ReplyChecked:
    """Return the verdict on a reply: it goes back with its violations, if there are any."""
    return ev.ReplyChecked(
        at=at,
        intent=intent.n,
        narrative=narrative,
        findings=tuple(
            Finding(code="schema", subject=p.pointer or WHOLE, message=p.message) for p in problems
        ),
        request=not_ok("invalid", detail, problems) if problems else None,
        revised=True,
    )


def _count(problems: tuple[Problem, ...]) -> str:
    return f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"


def conclude(state: RunState, reason: FinishReason) -> Deliverable:
    """End the run with everything that exists, and a list of what is missing."""
    if state.build is not None:
        status: DeliverableStatus = "completed" if reason == "done" else "cancelled"
        return Deliverable(status=status, narrative=summary_of(state.build), note=_NOTES[reason])
    narrative = state.narrative or state.last_text
    if state.run_spec.response_format is not None or state.run_spec.output_check:
        return _conclude_checked(state, reason, narrative)
    if keeps_reports(state.run_spec):
        report, incomplete = conclude_report(state, reason, _note(state, reason))
        exists = bool(report.narrative.strip() or report.artifacts)
        return report.replace(status=_status(reason, exists, incomplete))
    examined = examine(narrative, state.artifacts)
    findings = examined.findings if state.run_spec.kind == "deliver" else ()
    return Deliverable(
        status=_status(reason, bool(narrative.strip() or state.artifacts), dangling(findings)),
        narrative=examined.narrative if state.run_spec.kind == "deliver" else narrative,
        artifacts=state.artifacts,
        findings=findings,
        note=_note(state, reason),
    )


def _conclude_checked(state: RunState, reason: FinishReason, narrative: str) -> Deliverable:
    """Output that is accepted or nothing: half of it is of no use to the program that asked."""
    unfit = _REJECTED if state.run_spec.response_format is None else _UNFIT
    return Deliverable(
        status=_status(reason, reason == "done", incomplete=False),
        narrative=narrative,
        artifacts=state.artifacts,
        findings=state.findings if reason != "done" else (),
        note=unfit if reason == "repair_limit" else _note(state, reason),
    )


def _note(state: RunState, reason: FinishReason) -> str:
    note = _FAILURES.get(state.failure or "", _NOTES[reason])
    if reason == "context_limit" and since(state.run_spec, 2):
        return f"{note} {what_stays(state)}"
    if reason == "stuck":
        return f"{note} The last turn called {repeated_calls(state.history)}."
    return note


def _status(reason: FinishReason, exists: bool, incomplete: bool) -> DeliverableStatus:
    if reason in ("cancelled", "interrupted", "rejected"):
        return "cancelled"
    if not exists:
        return "failed"
    finished = reason in ("done", "repair_limit")
    return "completed" if finished and not incomplete else "partial"

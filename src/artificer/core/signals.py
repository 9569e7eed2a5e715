"""Signals: messages from people to a run, from any process.

A signal waits in the storage until the owner of the run takes it; then it becomes
an event. Each is taken once, in the order in which they were posted.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from artificer.builds.facts import (
    ConsentGiven,
    Decided,
    PlanDecision,
    RetryRequested,
    RevisionRequested,
)
from artificer.builds.jobs import is_run
from artificer.builds.scheduler import decision_on, retry_fault, revision_fault
from artificer.builds.state import consents_of
from artificer.core import events as ev
from artificer.core.rules import since
from artificer.core.state import RunState
from artificer.core.transitions import TABLE
from artificer.errors import InvalidValueError
from artificer.values.base import Digest, Meta, Text, Value, ValueReader
from artificer.values.blocks import AttachedBlock
from artificer.values.refusal import not_ok
from artificer.values.value_type import NamedValueType

LONGEST = 64 * 1024
"""The limit of bytes of one signal that is not a message to the model."""

LONGEST_MESSAGE = 8 * 1024 * 1024
"""The limit of bytes of one message, as of a prompt: no model reads more."""

_SHORT = Meta(max_length=16_000)
_LONG = Meta(max_length=LONGEST_MESSAGE)


class _Signal(Value, metaclass=NamedValueType, tag_field="type"):
    by: Annotated[Text, _SHORT] = ""


class Steer(_Signal):
    """Send a message to the model before its next reply."""

    type: ClassVar[Literal["steer"]] = "steer"
    text: Annotated[Text, _LONG]
    attachments: tuple[AttachedBlock, ...] = ()


class FollowUp(_Signal):
    """Ask something more when the run is finished."""

    type: ClassVar[Literal["follow_up"]] = "follow_up"
    text: Annotated[Text, _LONG]
    attachments: tuple[AttachedBlock, ...] = ()


class Pause(_Signal):
    """Start nothing new until the run is resumed."""

    type: ClassVar[Literal["pause"]] = "pause"
    reason: Annotated[Text, _SHORT] = ""


class Interrupt(_Signal):
    """Start nothing new, and end the run when nothing is in progress."""

    type: ClassVar[Literal["interrupt"]] = "interrupt"
    reason: Annotated[Text, _SHORT] = ""


class Cancel(_Signal):
    """Stop what is in progress, and end the run."""

    type: ClassVar[Literal["cancel"]] = "cancel"
    reason: Annotated[Text, _SHORT] = ""


class AnswerCall(_Signal):
    """Allow the call of this digest, or do not."""

    type: ClassVar[Literal["answer"]] = "answer"
    call: Digest
    approved: bool
    reason: Annotated[Text, _SHORT] = ""


class Resolve(_Signal):
    """Record whether an ambiguous call happened."""

    type: ClassVar[Literal["resolve"]] = "resolve"
    call_id: Annotated[Text, _SHORT]
    happened: bool
    reason: Annotated[Text, _SHORT] = ""


class Decide(_Signal):
    """Approve the plan of this digest, reject it, or ask for another one."""

    type: ClassVar[Literal["decide"]] = "decide"
    plan: Digest
    decision: PlanDecision
    reason: Annotated[Text, _SHORT] = ""


class Consent(_Signal):
    """Agree to the change of this digest, which a build cannot let count by itself, or do not."""

    type: ClassVar[Literal["consent"]] = "consent"
    change: Digest
    granted: bool
    reason: Annotated[Text, _SHORT] = ""


class Revise(_Signal):
    """Request another plan after work on a build started."""

    type: ClassVar[Literal["revise"]] = "revise"
    feedback: Annotated[Text, _SHORT]


class Retry(_Signal):
    """Try failed work of a build again; without ``spec``, the plan."""

    type: ClassVar[Literal["retry"]] = "retry"
    spec: Annotated[Text, _SHORT] = ""
    hint: Annotated[Text, _SHORT] = ""


class Tick(_Signal):
    """Tick off an item of a checklist, or take the tick back.

    ``version`` is the digest of the checklist as the person saw it, and ``revision`` how many
    changes it had had. It wakes no run that has ended.
    """

    type: ClassVar[Literal["tick"]] = "tick"
    checklist: Annotated[Text, _SHORT]
    version: Digest
    item: Annotated[Text, _SHORT]
    checked: bool
    revision: Annotated[int, Meta(ge=0)]


Signal = (
    Steer
    | FollowUp
    | Pause
    | Interrupt
    | Cancel
    | AnswerCall
    | Resolve
    | Decide
    | Consent
    | Revise
    | Retry
    | Tick
)

MessageSignal = Steer | FollowUp
"""A signal that the model reads."""


def longest(signal: Signal) -> int:
    """Return the limit of a signal's bytes."""
    return LONGEST_MESSAGE if isinstance(signal, MessageSignal) else LONGEST


_signals: ValueReader[Signal] = ValueReader(Signal, "the signal")


def read_signal(body: bytes) -> Signal | None:
    """Read a signal, or None when it cannot be read: another release may have written it."""
    try:
        return _signals.read(body)
    except InvalidValueError:
        return None


def require_readable(body: bytes) -> None:
    """Raise InvalidValueError for a signal that no run could read."""
    _signals.read(body)


def opened(state: RunState, number: int, signal: Signal | None, at: int) -> ev.Event:
    """Return the event of a signal. One that comes too late is a ReceiptIgnored."""
    event = _event(state, number, signal, at) if signal is not None else None
    if event is not None and (state.phase, type(event)) in TABLE:
        return event
    what = "letter" if signal is None else signal.type
    return ev.ReceiptIgnored(at=at, letter=number, what=what, reason=_too_late(state, signal))


def cancelled(at: int, reason: str, *, by: str = "", number: int = 0) -> ev.CancelRequested:
    """The event that ends a run now."""
    content = not_ok("cancelled", "The run was cancelled.")
    return ev.CancelRequested(at=at, reason=reason, content=content, by=by, letter=number)


def answer(
    at: int, intent: int, tool: str, *, approved: bool, by: str, reason: str, number: int = 0
) -> ev.ApprovalAnswered:
    """The event of an answer to a question."""
    refusal = f"{tool}: Not run: it was not approved. {reason}".rstrip()
    return ev.ApprovalAnswered(
        at=at,
        intent=intent,
        approved=approved,
        by=by,
        reason=reason,
        content="" if approved else not_ok("denied", refusal),
        letter=number,
    )


def _event(state: RunState, number: int, signal: Signal, at: int) -> ev.Event | None:
    by = signal.by
    event: ev.Event | None
    match signal:
        case Steer() | FollowUp() if state.build is not None and not _is_accepted(state, signal):
            event = None
        case Steer(text=text, attachments=attachments):
            event = ev.Steered(at=at, letter=number, by=by, text=text, attachments=attachments)
        case FollowUp(text=text, attachments=attachments):
            event = ev.FollowUpReceived(
                at=at, letter=number, by=by, text=text, attachments=attachments
            )
        case Pause(reason=reason):
            event = ev.PauseRequested(at=at, letter=number, by=by, reason=reason)
        case Interrupt(reason=reason):
            event = _interrupted(state, at, number, by, reason)
        case Cancel(reason=reason):
            event = cancelled(at, reason, by=by, number=number)
        case AnswerCall():
            event = _answered(state, number, signal, at)
        case Resolve():
            event = _resolved(state, number, signal, at)
        case Decide() | Consent() | Revise() | Retry():
            event = _build_fact(state, number, signal, at)
        case Tick():  # it needs the checklist: core.ticks
            event = None
    return event


def _is_accepted(state: RunState, signal: Signal) -> bool:
    """Whether a build can receive a message, for its active runs or for later ones."""
    if state.build is None or not isinstance(signal, Steer) or signal.attachments:
        return False
    under_way = any(is_run(job) for job in state.build.open)
    return under_way or (since(state.run_spec, 2) and state.build.ended is None)


def _build_fact(
    state: RunState, number: int, signal: Decide | Consent | Revise | Retry, at: int
) -> ev.BuildAdvanced | None:
    fact: Decided | ConsentGiven | RevisionRequested | RetryRequested
    if _fault_for_a_build(state, signal):
        return None
    match signal:
        case Decide(plan=plan, decision=decision, by=by, reason=reason):
            question = decision_on(state.build, plan) if state.build else ""
            if isinstance(question, str):
                return None
            fact = Decided(key=question.key, digest=plan, decision=decision, by=by, reason=reason)
        case Consent(change=change, granted=granted, by=by, reason=reason):
            waiting = consents_of(state.build, change) if state.build else []
            if not waiting:
                return None
            key = waiting[0].key
            fact = ConsentGiven(key=key, digest=change, granted=granted, by=by, reason=reason)
        case Revise(feedback=feedback, by=by):
            fact = RevisionRequested(feedback=feedback, by=by)
        case Retry(spec=spec, hint=hint, by=by):
            fact = RetryRequested(spec=spec, hint=hint, by=by)
    return ev.BuildAdvanced(at=at, fact=fact, letter=number)


def _interrupted(
    state: RunState, at: int, number: int, by: str, reason: str
) -> ev.InterruptRequested:
    then = "had ended" if state.waits else "began"
    content = not_ok("cancelled", f"The run was interrupted before this call {then}.")
    return ev.InterruptRequested(at=at, letter=number, by=by, reason=reason, content=content)


def _answered(
    state: RunState, number: int, signal: AnswerCall, at: int
) -> ev.ApprovalAnswered | None:
    pending = {p.call_id: p.n for p in state.pending if p.type == "AskApproval"}
    for call in state.calls:
        if call.id in pending and call.verdict and call.verdict.digest == signal.call:
            return answer(
                at,
                pending[call.id],
                call.verdict.tool,
                approved=signal.approved,
                by=signal.by,
                reason=signal.reason,
                number=number,
            )
    return None


def _resolved(state: RunState, number: int, signal: Resolve, at: int) -> ev.DoubtResolved | None:
    doubt = next((d for d in state.doubts if d.call_id == signal.call_id), None)
    if doubt is None:
        return None
    found = "it had happened" if signal.happened else "it had not happened"
    content = f"About the call {doubt.call_id} of {doubt.tool}: a person found out that {found}."
    return ev.DoubtResolved(
        at=at,
        letter=number,
        call_id=doubt.call_id,
        happened=signal.happened,
        reason=signal.reason,
        content=f"{content} {signal.reason}".rstrip(),
        by=signal.by,
    )


def _fault_for_a_build(state: RunState, signal: Signal) -> str:
    """Return why a build in progress cannot be revised or retried, or ""."""
    if state.build is None or state.status is not None:
        return ""
    if isinstance(signal, Revise):
        return revision_fault(state.build)
    return retry_fault(state.build, signal.spec) if isinstance(signal, Retry) else ""


_TOO_LATE_FOR_A_BUILD = {
    "consent": "That change does not wait for consent.",
    "steer": "No run of the build is under way.",
    "follow_up": "A build is revised, not asked for more.",
}


def _too_late(state: RunState, signal: Signal | None) -> str:
    match signal:
        case None:
            return "This release cannot read it."
        case AnswerCall(call=call):
            return f"No call {call} waits for approval."
        case Decide(plan=plan) if state.build is not None:
            question = decision_on(state.build, plan)
            return question if isinstance(question, str) else "It was answered before."
        case Consent() | Steer() | FollowUp() if state.build is not None:
            return _TOO_LATE_FOR_A_BUILD[signal.type]
        case Resolve(call_id=call_id):
            return f"No call {call_id!r} is in doubt."
        case _:
            fault = _fault_for_a_build(state, signal)
            return fault or f"The run is {state.phase.value}."

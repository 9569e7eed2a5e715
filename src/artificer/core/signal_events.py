"""The events that record signals, and whether one records exactly what its signal requested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from artificer.builds.facts import ConsentGiven, Decided, RetryRequested, RevisionRequested
from artificer.core import events as ev
from artificer.core.record import EventLine, Line
from artificer.core.signals import (
    AnswerCall,
    Cancel,
    Consent,
    Decide,
    FollowUp,
    Interrupt,
    Pause,
    Resolve,
    Retry,
    Revise,
    Signal,
    Steer,
    Tick,
)

_KINDS: dict[type, type] = {
    Steer: ev.Steered,
    FollowUp: ev.FollowUpReceived,
    Pause: ev.PauseRequested,
    Interrupt: ev.InterruptRequested,
    Cancel: ev.CancelRequested,
    AnswerCall: ev.ApprovalAnswered,
    Resolve: ev.DoubtResolved,
    Decide: Decided,
    Consent: ConsentGiven,
    Revise: RevisionRequested,
    Retry: RetryRequested,
    Tick: ev.ChecklistTicked,
}

_NAMES = {"call": "", "plan": "digest", "change": "digest"}
"""Members of signals that events have under another name; a call is found by its intent."""


def taken(lines: Sequence[Line]) -> Iterator[tuple[EventLine, int]]:
    """Yield each event of a run that took a signal, with the signal's number.

    Those before the last fork are the origin's: a fork has only copied them.
    """
    forks = [n for n, line in enumerate(lines) if _is_fork(line)]
    for line in lines[forks[-1] if forks else 0 :]:
        if isinstance(line, EventLine) and (number := getattr(line.event, "letter", 0)):
            yield line, number


def _is_fork(line: Line) -> bool:
    return isinstance(line, EventLine) and isinstance(line.event, ev.RunForked)


def follows(event: ev.Event, signal: Signal | None, call: str = "") -> bool:
    """Whether an event can be what a signal became. None is a signal that nobody can read.

    ``call`` is the digest of the call that an answered question was about. Only what the signal
    said is compared, not how a release words it.
    """
    if isinstance(event, ev.ReceiptIgnored):
        return event.what == ("letter" if signal is None else signal.type)
    fact = event.fact if isinstance(event, ev.BuildAdvanced) else event
    if signal is None or type(fact) is not _KINDS[type(signal)]:
        return False
    if isinstance(signal, AnswerCall) and signal.call != call:
        return False
    wanted = {_NAMES.get(n, n): getattr(signal, n) for n in signal.field_names()}
    wanted.pop("", None)
    return all(getattr(fact, name) == value for name, value in wanted.items())

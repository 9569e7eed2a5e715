"""Whether an event says what the letter said that it names."""

from __future__ import annotations

from artificer.builds.facts import ConsentGiven, Decided, RetryRequested, RevisionRequested
from artificer.core import events as ev
from artificer.core.letters import (
    AnswerCall,
    Cancel,
    Consent,
    Decide,
    FollowUp,
    Interrupt,
    Letter,
    Pause,
    Resolve,
    Retry,
    Revise,
    Steer,
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
}

_NAMES = {"call": "", "plan": "digest", "change": "digest"}
"""Members of letters that events have under another name; a call is found by its intent."""


def follows(event: ev.Event, letter: Letter | None, call: str = "") -> bool:
    """Whether an event can be what a letter became. None is a letter that nobody can read.

    ``call`` is the digest of the call that an answered question was about. Only what the letter
    said is compared, not how a release words it.
    """
    if isinstance(event, ev.ReceiptIgnored):
        return event.what == ("letter" if letter is None else letter.type)
    said = event.fact if isinstance(event, ev.BuildAdvanced) else event
    if letter is None or type(said) is not _KINDS[type(letter)]:
        return False
    if isinstance(letter, AnswerCall) and letter.call != call:
        return False
    wanted = {_NAMES.get(n, n): getattr(letter, n) for n in letter.field_names()}
    wanted.pop("", None)
    return all(getattr(said, name) == value for name, value in wanted.items())

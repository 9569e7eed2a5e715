"""Decisions that a later signal revokes before they had an effect."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.core import events as ev
from artificer.core.signals import Consent, Decide, Signal, read_signal
from artificer.values.base import Digest


def overruled(signals: Iterable[tuple[int, bytes]]) -> set[int]:
    """Return the decisions among waiting signals that a later one takes back.

    Nobody has acted on them yet, so the last word about a plan or a change counts.
    """
    read = [(number, read_signal(body)) for number, body in signals]
    decisions = [(n, signal) for n, signal in read if isinstance(signal, (Decide, Consent))]
    latest = {_subject(signal): _word(signal) for _, signal in decisions}
    return {n for n, signal in decisions if _word(signal) != latest[_subject(signal)]}


def _subject(signal: Decide | Consent) -> Digest:
    return signal.plan if isinstance(signal, Decide) else signal.change


def _word(signal: Decide | Consent) -> tuple[str, str]:
    """The content of a decision: to say the same once more takes nothing back."""
    if isinstance(signal, Consent):
        return str(signal.granted), ""
    return signal.decision, signal.reason if signal.decision == "iterate" else ""


def overruled_event(number: int, signal: Signal | None, at: int) -> ev.ReceiptIgnored:
    """Return the event of a decision that a later signal takes back."""
    why = "A later letter decides otherwise, and nothing had come of this one."
    what = "letter" if signal is None else signal.type
    return ev.ReceiptIgnored(at=at, letter=number, what=what, reason=why)

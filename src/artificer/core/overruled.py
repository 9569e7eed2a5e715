"""Decisions that a later letter takes back before anything came of them."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.core import events as ev
from artificer.core.letters import Consent, Decide, Letter, read_letter
from artificer.values.base import Digest


def overruled(letters: Iterable[tuple[int, bytes]]) -> set[int]:
    """Return the decisions among waiting letters that a later one takes back.

    Nobody has acted on them yet, so the last word about a plan or a change counts.
    """
    read = [(number, read_letter(body)) for number, body in letters]
    said = [(n, letter) for n, letter in read if isinstance(letter, Decide | Consent)]
    latest = {_subject(letter): _word(letter) for _, letter in said}
    return {n for n, letter in said if _word(letter) != latest[_subject(letter)]}


def _subject(letter: Decide | Consent) -> Digest:
    return letter.plan if isinstance(letter, Decide) else letter.change


def _word(letter: Decide | Consent) -> tuple[str, str]:
    """The content of a decision: to say the same once more takes nothing back."""
    if isinstance(letter, Consent):
        return str(letter.granted), ""
    return letter.decision, letter.reason if letter.decision == "iterate" else ""


def overruled_event(number: int, letter: Letter | None, at: int) -> ev.ReceiptIgnored:
    """Return the event of a decision that a later letter takes back."""
    why = "A later letter decides otherwise, and nothing had come of this one."
    what = "letter" if letter is None else letter.type
    return ev.ReceiptIgnored(at=at, letter=number, what=what, reason=why)

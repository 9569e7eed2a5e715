"""Choosing the report among the texts of a run: what is kept, revised, or only a message.

A report may be written next to tool calls, in pieces, or as the last reply. A later text may
revise it, or only say "Done.". A kept report loses a citation only when the artifact was withdrawn
(invariant 8).

A text that keeps every citation and at least half of the prose replaces the report. A shorter
text without a placeholder on a line of its own is a message to the reader. The model decides about
every other text: a request asks it to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce

from msgspec import Struct

from artificer.artifacts.deliverable import (
    MAX_NARRATIVE,
    Examined,
    examine,
    of_another_kind,
    prose_length,
)
from artificer.artifacts.fence import unwrapped
from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.withdraw import NAME as WITHDRAW
from artificer.artifacts.withdraw import Withdrawal
from artificer.values.base import Value


class Candidate(Value):
    """A text that may be the report: one next to calls, or a ``final`` reply that was sent back."""

    text: str
    final: bool = False


class Choice(Struct, frozen=True):
    """The decision about the texts of some turns.

    ``narrative`` is the kept text, ``revised`` whether it is new, ``last`` whether it is the last
    reply, ``unwrapped`` whether it was in a fence. ``message`` is the last reply if that is not the
    report, and ``rejected`` says why it is not. ``asks`` means that it could be one: ``dropped``
    are the citations it lacks; if there are none, it is too short.
    """

    narrative: str
    revised: bool = False
    last: bool = False
    unwrapped: bool = False
    message: str = ""
    rejected: str | None = None
    asks: bool = False
    dropped: tuple[str, ...] = ()


def choose(
    kept: str,
    candidates: Sequence[Candidate],
    reply: str,
    made: tuple[ArtifactRef, ...],
    withdrawn: Iterable[Withdrawal] = (),
) -> Choice:
    """Decide which text is the report now. ``kept`` is the report so far, or empty."""
    rules = _Revision(
        made, frozenset(gone.subject.lower() for gone in withdrawn), bool(kept.strip())
    )
    texts = [(rules.read(candidate.text), candidate.final) for candidate in candidates]
    so_far = reduce(rules.weighed, texts, _Text(kept, examine(kept, made)))
    choice = Choice(so_far.text, revised=so_far.text != kept, unwrapped=so_far.unwrapped)
    last = rules.read(reply)
    if not last.text.strip():
        return choice
    against = rules.rejection(so_far, last, [text for text, final in texts if final])
    if against is None:
        return Choice(last.text, revised=True, last=True, unwrapped=last.unwrapped)
    return Choice(
        choice.narrative,
        revised=choice.revised,
        unwrapped=choice.unwrapped,
        message=reply,
        rejected=against.reason,
        asks=against.asks,
        dropped=against.lost,
    )


def why_rejected(choice: Choice, *, may_withdraw: bool) -> str:
    """Return a request about a last reply that could be meant as the report."""
    lines = [f"Your last text has not replaced the answer that is kept: {choice.rejected}."]
    if not choice.dropped:
        lines.append(
            "If it is the new answer, send it once more, whole, with every placeholder alone on a"
            " line."
        )
    else:
        lines.append("Send the whole answer with these placeholders, each where it belongs:")
        lines += [f"{{{{artifact:{subject}}}}}" for subject in choice.dropped]
        if may_withdraw:
            lines.append(
                f"Or call {WITHDRAW} for each of them that shall not be part of the answer any"
                " more. The text that you have just sent then counts; do not send it again."
            )
    lines.append("To leave the answer as it is, reply with one short sentence.")
    return "\n".join(lines)


class _Text(Struct, frozen=True, dict=True):
    """A text and its citations: subjects as spelled, by their lower-case form."""

    text: str
    examined: Examined
    unwrapped: bool = False

    @cached_property
    def cites(self) -> Mapping[str, str]:
        found = (*self.examined.citations, *self.examined.missing)
        return {item.subject.lower(): item.subject for item in found}

    @cached_property
    def accepted(self) -> frozenset[str]:
        return frozenset(item.subject.lower() for item in self.examined.citations)

    @cached_property
    def prose(self) -> int:
        return min(prose_length(self.examined.narrative), MAX_NARRATIVE)

    @cached_property
    def shaped(self) -> bool:
        """Whether a placeholder is on a line of its own, as in a report."""
        found = (*self.examined.citations, *self.examined.missing)
        return any(_on_own_line(self.examined.narrative, item.start, item.end) for item in found)


def _on_own_line(text: str, start: int, end: int) -> bool:
    """Return whether a span has only white space around it on its line."""
    line_end = text.find("\n", end)
    after = text[end : line_end if line_end >= 0 else len(text)]
    return not after.strip() and not text[text.rfind("\n", 0, start) + 1 : start].strip()


class _Rejection(Struct, frozen=True):
    """Why a reply is not the report. ``asks`` means that the model decides whether it is."""

    reason: str
    asks: bool
    lost: tuple[str, ...] = ()


class _Revision(Struct, frozen=True):
    """The rules for one decision. ``checked`` means that the kept text passed an earlier check."""

    made: tuple[ArtifactRef, ...]
    withdrawn: frozenset[str]
    checked: bool

    def read(self, text: str) -> _Text:
        inside = unwrapped(text)
        shown = text if inside is None else inside
        return _Text(shown, examine(shown, self.made), inside is not None)

    def weighed(self, kept: _Text, candidate: tuple[_Text, bool]) -> _Text:
        """Return the text to keep, after a candidate that was next to calls or was sent back."""
        text, final = candidate
        if not text.cites:
            return kept
        if not kept.text.strip():
            return text
        if not self._lost(kept, text):
            return text if _long_enough(kept, text) else kept
        if self.checked or final or not text.accepted - kept.cites.keys():
            return kept
        pieces = f"{kept.text}\n\n{text.text}"  # a report that is written piece by piece
        return _Text(pieces, examine(pieces, self.made), kept.unwrapped)

    def rejection(self, kept: _Text, reply: _Text, sent_back: Sequence[_Text]) -> _Rejection | None:
        """Return why the last reply is not the report, or None if it is."""
        if not kept.text.strip():
            return None
        lost, long = self._lost(kept, reply), _long_enough(kept, reply)
        if lost:
            return _Rejection(f"it no longer cites {', '.join(lost)}", long or reply.shaped, lost)
        meant = reply.shaped and any(
            text.shaped and not self._lost(kept, text) for text in sent_back
        )
        if long or meant:
            return None
        has = len(reply.text.strip())
        return _Rejection(
            f"it has {has} characters where the kept one has {kept.prose}", reply.shaped
        )

    def _lost(self, kept: _Text, text: _Text) -> tuple[str, ...]:
        """Return the citations that ``text`` lacks, of an unchecked kept text only known ones."""
        required = set(kept.cites if self.checked else kept.accepted)
        righted = of_another_kind(kept.examined, text.examined)
        lost = sorted(required - self.withdrawn - righted - text.cites.keys())
        return tuple(kept.cites[subject] for subject in lost)


def _long_enough(kept: _Text, text: _Text) -> bool:
    return 2 * len(text.text.strip()) >= kept.prose

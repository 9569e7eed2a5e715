"""Prose compared paragraph by paragraph, and within a paragraph word by word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from artificer.values.text import clip

MAX_PARAGRAPHS = 400
"""Paragraphs of each text that are compared."""

MAX_WORDS = 400
"""Words of a paragraph that are compared one with another."""

MAX_PAIRS = 20_000
"""Pairs of equal words in two paragraphs that are compared: few words, again and again, make many,
and comparing takes each many times."""

MAX_ALL_PAIRS = 200_000
"""Pairs of equal words in all paragraphs that are compared."""

MAX_TEXT = 8_000
"""Characters of a paragraph that are shown where it is not compared by words."""

ALIKE = 0.4
"""Share of common words from which one paragraph counts as a new wording of another."""

PieceKind = Literal["same", "added", "removed"]
ParagraphKind = Literal["same", "added", "removed", "changed", "note"]


class ProsePiece(NamedTuple):
    """Words that both paragraphs have, or only one."""

    kind: PieceKind
    text: str


class ProseChange(NamedTuple):
    """A paragraph of the difference. A ``note`` says what is left out."""

    kind: ParagraphKind
    pieces: tuple[ProsePiece, ...]


def prose_diff(before: str, after: str) -> tuple[ProseChange, ...]:
    """Return the paragraphs of two texts as they changed; none for equal ones."""
    if before == after:
        return ()
    a, b = _paragraphs(before), _paragraphs(after)
    found = list(_compared(a[:MAX_PARAGRAPHS], b[:MAX_PARAGRAPHS]))
    if (cut := max(len(a), len(b)) - MAX_PARAGRAPHS) > 0:
        found.append(_note(f"{cut:,} more paragraphs were not compared."))
    return tuple(found)


def _paragraphs(text: str) -> list[str]:
    return [p.strip() for p in re.split(r"\n\s*\n", text) if p.strip()]


def _compared(a: Sequence[str], b: Sequence[str]) -> Iterator[ProseChange]:
    left = MAX_ALL_PAIRS
    for word, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if word == "equal":
            yield from _shortened(a[i:j])
            continue
        pairs = min(j - i, m - k)
        for one, other in zip(a[i : i + pairs], b[k : k + pairs], strict=True):
            effort = _effort(one, other)
            left -= effort
            if left < 0 or effort > MAX_PAIRS:
                yield _whole("removed", one)
                yield _whole("added", other)
            else:
                yield from _pair(one, other)
        yield from (_whole("removed", text) for text in a[i + pairs : j])
        yield from (_whole("added", text) for text in b[k + pairs : m])


def _shortened(same: Sequence[str]) -> Iterator[ProseChange]:
    """Yield the first and the last of paragraphs that are the same."""
    if len(same) <= 3:
        yield from (_whole("same", text) for text in same)
        return
    yield _whole("same", same[0])
    yield _note(f"{len(same) - 2:,} paragraphs are the same.")
    yield _whole("same", same[-1])


def _effort(before: str, after: str) -> int:
    """Return how many pairs of equal words two paragraphs have."""
    a, b = Counter(before.split()), Counter(after.split())
    return sum(n * b[word] for word, n in a.items())


def _pair(before: str, after: str) -> Iterator[ProseChange]:
    a, b = before.split(), after.split()
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if max(len(a), len(b)) > MAX_WORDS or matcher.ratio() < ALIKE:
        yield _whole("removed", before)
        yield _whole("added", after)
        return
    # The words as they stand, each with the space after it: spaces alone do not count as a change.
    one, other = re.findall(r"\S+\s*", before), re.findall(r"\S+\s*", after)
    pieces: list[ProsePiece] = []
    for word, i, j, k, m in matcher.get_opcodes():
        if word == "equal":
            pieces.append(ProsePiece("same", "".join(other[k:m])))
            continue
        if i < j:
            pieces.append(ProsePiece("removed", "".join(one[i:j])))
        if k < m:
            pieces.append(ProsePiece("added", "".join(other[k:m])))
    yield ProseChange("changed", tuple(pieces))


def _whole(kind: PieceKind, text: str) -> ProseChange:
    return ProseChange(kind, (ProsePiece(kind, clip(text, MAX_TEXT)),))


def _note(text: str) -> ProseChange:
    return ProseChange("note", (ProsePiece("same", text),))

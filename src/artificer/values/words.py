"""The words of a text, as searches compare them.

A word is a run of letters and digits, folded: without case, without accents, in the compatible form
of Unicode. Scripts without spaces between words are taken character by character. A change
here needs a new ``WORDS_VERSION``: what was indexed by the old rules is then indexed again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

WORDS_VERSION = 1

LONGEST_WORD = 64
"""Characters of a word that count. A longer one is mostly encoded bytes."""

MAX_TERMS = 32
"""Words and phrases of one search that count, and words of one phrase."""

_SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}]|[\u0300-\u036f])+"
_ASCII_WORD = "[0-9a-z]+"
_TERM = r'"([^"]*)(?:"|$)(\*?)|([^\s"]+)'


class Term(Struct, frozen=True):
    """Words that have to follow one another; with ``prefix``, the last one begins a word."""

    words: tuple[str, ...]
    prefix: bool = False


def words_of(text: str) -> list[str]:
    """Return the folded words of a text, in order."""
    if text.isascii():
        return [word[:LONGEST_WORD] for word in _compiled(_ASCII_WORD).findall(text.lower())]
    return [word for _, _, word in placed_words(text)]


def placed_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each word begins and ends in a text, and the word itself, folded."""
    for found in _compiled(_WORD).finditer(text):
        word = _folded(found[0])
        if word:
            yield found.start(), found.end(), word


def terms_of(query: str) -> tuple[Term, ...]:
    """Return what a query asks for: words, ``"phrases"`` and beginnings of words (``word*``).

    Every query means something: other punctuation separates words, as in a text.
    """
    found = []
    for phrase, star, word in _compiled(_TERM).findall(query):
        words = tuple(words_of(phrase or word)[:MAX_TERMS])
        if words:
            found.append(Term(words, bool(star) or word.endswith("*")))
    return tuple(dict.fromkeys(found))[:MAX_TERMS]


def matches(terms: Sequence[Term], words: Sequence[str]) -> bool:
    """Whether a text of these words holds all the terms."""
    return all(next(_places(term, words), None) is not None for term in terms)


def find_spans(terms: Sequence[Term], text: str) -> list[tuple[int, int]]:
    """Return where terms stand in a text, first to last; empty unless it holds all of them."""
    placed = list(placed_words(text))
    words = [word for _, _, word in placed]
    spans = set[tuple[int, int]]()
    for term in terms:
        places = list(_places(term, words))
        if not places:
            return []
        last = len(term.words) - 1
        spans.update((placed[at][0], placed[at + last][1]) for at in places)
    return sorted(spans)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first used: every run imports this, and few search."""
    return re.compile(pattern)


def _places(term: Term, words: Sequence[str]) -> Iterator[int]:
    first, *others = term.words
    for at, word in enumerate(words):
        if not others:
            if word == first or (term.prefix and word.startswith(first)):
                yield at
        elif word == first and _continues(others, words[at + 1 :][: len(others)], term.prefix):
            yield at


def _continues(wanted: Sequence[str], words: Sequence[str], prefix: bool) -> bool:
    if len(words) < len(wanted) or list(words[:-1]) != list(wanted[:-1]):
        return False
    return words[-1] == wanted[-1] or (prefix and words[-1].startswith(wanted[-1]))


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()[:LONGEST_WORD]
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(filter(str.isalnum, plain)).casefold()[:LONGEST_WORD]

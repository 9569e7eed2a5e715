"""The index of texts in memory: the linear counterpart of the one in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.ports import Found, IndexedText, Reached, TextQuery
from artificer.values.words import matches


class MemorySearchIndex:
    """A `SearchIndex` that dies with its process, and compares every text."""

    def __init__(self) -> None:
        self._reached = Reached()
        self._kinds: dict[str, str] = {}
        self._texts: list[IndexedText] = []

    def reached(self) -> Reached:
        """Return how far the index has come."""
        return self._reached

    def add(self, after: int, texts: Sequence[IndexedText], upto: Reached) -> bool:
        """Add all texts between two positions; False unless the index is at ``after``."""
        if self._reached.position != after:
            return False
        for text in texts:
            self._kinds.setdefault(text.run, text.kind)
        self._texts += texts
        self._reached = upto
        return True

    def find(self, query: TextQuery, before: int, limit: int) -> list[Found]:
        """Return the newest ``limit`` records at positions below ``before``, newest first."""
        found: list[Found] = []
        for text in reversed(self._texts):
            if len(found) == limit:
                break
            if text.position < before and self._is_wanted(text, query):
                found.append(Found(text.position, text.run, text.seq))
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._reached = Reached()
        self._kinds.clear()
        self._texts.clear()

    def _is_wanted(self, text: IndexedText, query: TextQuery) -> bool:
        kind = query.kind in (None, self._kinds[text.run])
        return kind and text.at >= query.since and matches(query.terms, text.words)

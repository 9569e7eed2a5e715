"""The port to the index of a world's texts: which records contain which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from artificer.ports.journal import Placed
from artificer.values.words import Term


class Reached(Struct, frozen=True):
    """The position of the world that an index has reached, and the world's hash there."""

    position: int = 0
    world: str = ""


class IndexedText(Struct, frozen=True, gc=False):
    """The words of a record. ``kind`` is its run's kind, if the record states it."""

    position: int
    run: str
    seq: int
    at: int
    words: Sequence[str]
    kind: str = ""


class TextQuery(Struct, frozen=True):
    """The texts to search: of runs of a ``kind``, recorded at ``since`` or later."""

    terms: tuple[Term, ...]
    kind: str | None = None
    since: int = 0


class Found(Struct, frozen=True, gc=False):
    """A record found by an index. Only the journal has its contents."""

    position: int
    run: str
    seq: int


class SearchIndex(Protocol):
    """A cache of the journal: which records contain which words. It may be lost at any time.

    It may be used from any thread. Hits are read from the journal before they are shown, so the
    index alone is never trusted. Every method raises OperatorError if the index cannot be used.
    """

    def reached(self) -> Reached:
        """Return how far the index has come; where it begins for an empty one."""

    def add(self, after: int, texts: Sequence[IndexedText], upto: Reached) -> bool:
        """Add all texts between two positions; False, and nothing is added, unless it is at
        ``after``, or where nothing may be written."""

    def find(self, query: TextQuery, before: int, limit: int) -> list[Found]:
        """Return the newest ``limit`` records at positions below ``before``, newest first."""

    def clear(self) -> None:
        """Forget everything, as after a run was pruned."""


@runtime_checkable
class Indexed(Protocol):
    """A storage that keeps an index of its texts."""

    @property
    def search_index(self) -> SearchIndex:
        """The index of texts."""


@runtime_checkable
class Ordered(Protocol):
    """A journal whose records can be read in the order in which the world recorded them."""

    async def position(self) -> int:
        """The number of records and notes in the world: each has the next position."""

    async def placed(self, after: int, upto: int) -> list[Placed]:
        """Return the records at positions above ``after`` up to ``upto``, in order.

        :meth:`position` has returned ``upto`` or more. The body of a pruned record is empty.
        """

    async def world_at(self, position: int) -> str | None:
        """Return the world's hash at a position, or None if the world has not reached it."""

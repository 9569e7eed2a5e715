"""The work that waits for a commit, and which of it goes first."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from itertools import count, islice
from typing import Any

from msgspec import Struct

from artificer.storage.sqlite.transaction import Transaction

BATCH = 32
"""Most units of work in one commit. While more of them wait, three in four places go to the oldest
runs, so that these end before the younger ones, and the others to what has waited longest."""

_Number = tuple[int, int]
"""The age of the run, lower for an older one, and how much work came before."""


class WaitingWork(Struct, frozen=True, gc=False):
    """A unit of work, and the future of its outcome."""

    work: Callable[[Transaction], Any]
    future: asyncio.Future[Any]


class CommitQueue:
    """Work that waits for a commit. What choosing costs does not grow with how much waits."""

    def __init__(self) -> None:
        self._numbers = count()
        self._waiting: dict[_Number, WaitingWork] = {}
        """In the order in which they came."""
        self._by_age: list[_Number] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, waiting: WaitingWork, age: int) -> None:
        """Add work at the end."""
        key = (age, next(self._numbers))
        self._waiting[key] = waiting
        insort(self._by_age, key)

    def all(self) -> dict[_Number, WaitingWork]:
        """Return all of it."""
        return dict(self._waiting)

    def batch(self) -> dict[_Number, WaitingWork]:
        """Return the work of the next commit. It waits until it is removed."""
        if len(self._waiting) <= BATCH:
            return self.all()
        first = dict.fromkeys(islice(self._waiting, BATCH // 4))
        oldest = (key for key in self._by_age if key not in first)
        keys = [*first, *islice(oldest, BATCH - len(first))]
        return {key: self._waiting[key] for key in keys}

    def remove(self, done: Mapping[_Number, WaitingWork]) -> None:
        """Remove work that waits."""
        for key in done:
            del self._waiting[key]
            del self._by_age[bisect_left(self._by_age, key)]

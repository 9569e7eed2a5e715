"""The changing part of a run's page, made once for all who watch with the same rights."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field

MAX_BODIES = 64
"""Bodies that are kept; the oldest makes room for a new one."""

FRESH_S = 2.0
"""Seconds for which one is given out."""

FORM_KEY = secrets.token_urlsafe(24)
"""Stands for the key of the forms, which is another one for each person. Nobody can guess it."""


SPACING = "Body-Spacing"
"""The header that says after how many milliseconds a page may ask for its next body."""

LEAST_MS = 300
"""Milliseconds from one body to the next that a page asks for, however few watch."""

BODIES_PER_SECOND = 25
"""Bodies that all pages together ask for."""


def spacing_ms(watchers: int) -> int:
    """Return how many milliseconds lie between two bodies of one page."""
    return max(LEAST_MS, watchers * 1_000 // BODIES_PER_SECOND)


@dataclass
class KeptBody:
    """A body as it was after a record, with the lock of who makes it."""

    seq: int = -1
    made: float = 0.0
    text: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Bodies:
    """Bodies by what decides on them: the run, the rights of who looks, who executes it."""

    def __init__(self, fresh_s: float = FRESH_S) -> None:
        self._fresh_s = fresh_s
        self._kept = OrderedDict[Hashable, KeptBody]()

    async def get(
        self, key: Hashable, seq: int, make: Callable[[], Awaitable[tuple[int, str]]]
    ) -> str:
        """Return a body that shows the record ``seq``: one that was just made, or a new one.

        Raises what ``make`` raises, which returns the last record that its text shows.
        """
        kept = self._kept.setdefault(key, KeptBody())
        while len(self._kept) > MAX_BODIES:
            self._kept.popitem(last=False)
        async with kept.lock:
            now = asyncio.get_running_loop().time()
            if kept.seq < seq or now - kept.made > self._fresh_s:
                kept.seq, kept.text = await make()
                kept.made = asyncio.get_running_loop().time()
            return kept.text

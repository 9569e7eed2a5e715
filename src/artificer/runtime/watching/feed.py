"""The feed of a world: its runs' records and pieces for the readers that subscribed to them.

A reader that falls behind costs no memory: records that no longer fit are left to the journal, and
pieces of text are joined or dropped and counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from artificer.core.record import EventLine, IntentLine, Line
from artificer.ports import CallProgress
from artificer.runtime.watching.observe import Observer
from artificer.values.model import ArgumentsDelta, Delta, ReasoningDelta, TextDelta

LivePiece = Delta | CallProgress
"""Anything that readers see and no record holds."""

LIMIT = 1_000
"""Records and pieces that wait for one reader."""

PIECE = 16_000
"""Characters up to which waiting pieces of one text are joined."""


class Subscription:
    """The records and pieces of one run that wait for one reader."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.adopted = 0
        """The number of the last record that a fork took over."""
        self._waiting: deque[Line | LivePiece] = deque()
        self._missed = 0
        self._changed = asyncio.Event()

    def add_line(self, line: Line) -> None:
        """Keep a record. What no longer fits is left to the journal, which has it."""
        if len(self._waiting) >= LIMIT:
            self._missed += sum(not isinstance(item, Line) for item in self._waiting)
            self._waiting.clear()
        self._waiting.append(line)
        self._changed.set()

    def add_piece(self, piece: LivePiece) -> None:
        """Keep a piece, join it to the one before it, or count it as missed."""
        last = self._waiting[-1] if self._waiting else None
        if last is not None and (joined := _joined(last, piece)) is not None:
            self._waiting[-1] = joined
        elif len(self._waiting) >= LIMIT:
            self._missed += 1
        else:
            self._waiting.append(piece)
        self._changed.set()

    def miss(self, count: int) -> None:
        """Count pieces that were dropped elsewhere."""
        self._missed += count

    def wake(self) -> None:
        """Wake the reader, although nothing was added."""
        self._changed.set()

    def take(self) -> tuple[list[Line | LivePiece], int]:
        """Return what waits, and how many pieces were dropped before it."""
        taken, missed = list(self._waiting), self._missed
        self._waiting.clear()
        self._missed = 0
        self._changed.clear()
        return taken, missed

    async def changed(self, seconds: float | None = None) -> None:
        """Wait until there is something new, or ``seconds`` have passed."""
        if seconds is None:
            await self._changed.wait()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()


def _joined(last: Line | LivePiece, piece: LivePiece) -> LivePiece | None:
    """Return two pieces of the same text as one, if they may be."""
    match last, piece:
        case TextDelta(text=a), TextDelta(text=b) if len(a) + len(b) <= PIECE:
            return TextDelta(text=a + b)
        case ReasoningDelta(text=a), ReasoningDelta(text=b) if len(a) + len(b) <= PIECE:
            return ReasoningDelta(text=a + b)
        case ArgumentsDelta(index=i, text=a), ArgumentsDelta(index=j, text=b) if i == j:
            return last.replace(text=a + b) if len(a) + len(b) <= PIECE else None
        case _:
            return None


class Feed(Observer):
    """Hands what happens in the runs of one world to the subscribers."""

    def __init__(self) -> None:
        self._readers: dict[str, list[Subscription]] = {}

    def subscribe(self, run: str) -> Subscription:
        """Return a subscription; :meth:`unsubscribe` ends it."""
        subscription = Subscription(run)
        self._readers.setdefault(run, []).append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription."""
        readers = self._readers.get(subscription.run, [])
        readers.remove(subscription)
        if not readers:
            del self._readers[subscription.run]

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Note a record that is history: another run had made it."""
        for reader in self._readers.get(run, ()):
            reader.adopted = line.seq

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Hand on a record."""
        for reader in self._readers.get(run, ()):
            reader.add_line(line)

    def streamed(self, run: str, delta: Delta) -> None:
        """Hand on a piece."""
        for reader in self._readers.get(run, ()):
            reader.add_piece(delta)

    def progressed(self, run: str, progress: CallProgress) -> None:
        """Hand on a report of progress."""
        for reader in self._readers.get(run, ()):
            reader.add_piece(progress)

    def idle(self, run: str) -> None:
        """Wake the readers: nothing more comes from here."""
        for reader in self._readers.get(run, ()):
            reader.wake()

"""Taking turns in order of arrival: readers run together, a writer runs alone."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class CallLane:
    """Keeps the calls of one turn in the order in which the model wrote them.

    A read that comes after a write sees it; reads between two writes go at once.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[bool, asyncio.Future[None]]] = deque()
        self._readers = 0
        self._writing = False

    @asynccontextmanager
    async def turn(self, *, exclusive: bool) -> AsyncIterator[None]:
        """Wait for one's turn, and hold it."""
        await self._enter(exclusive)
        try:
            yield
        finally:
            self._leave(exclusive)
            self._admit()

    async def _enter(self, exclusive: bool) -> None:
        place = (exclusive, asyncio.get_running_loop().create_future())
        self._waiting.append(place)
        self._admit()
        try:
            await place[1]
        except asyncio.CancelledError:
            if place in self._waiting:
                self._waiting.remove(place)
            if not place[1].cancelled():  # it had been admitted, and does not come
                self._leave(exclusive)
            self._admit()
            raise

    def _leave(self, exclusive: bool) -> None:
        if exclusive:
            self._writing = False
        else:
            self._readers -= 1

    def _admit(self) -> None:
        while self._waiting and not self._writing:
            exclusive, admitted = self._waiting[0]
            if exclusive and self._readers:
                return
            self._waiting.popleft()
            if admitted.done():
                continue  # cancelled in the same moment
            if exclusive:
                self._writing = True
            else:
                self._readers += 1
            admitted.set_result(None)

"""One reader of each run for all who watch it: each event is rendered once, and its bytes shared.

A watcher first gets what is recorded, from the journal, then what has formed of the reply in
progress, as far as the shared reader has seen it, and then what this one sees. Events are sent
together a few times a second, the more watchers the more rarely, and to a few watchers at a time:
so that watching takes little from the run, which may be executed here.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable

from msgspec import Struct

from artificer.errors import ArtificerError
from artificer.events import (
    ArgumentsStreamed,
    CallProgressed,
    EventsMissed,
    ModelDelayed,
    ReasoningStreamed,
    RunEnded,
    RunEvent,
    TextStreamed,
    sse,
)
from artificer.studio.forming import Forming, forms_since, joined
from artificer.system.tasks import end_all
from artificer.world import World

log = logging.getLogger("artificer.studio.broadcasts")

INTERVAL_S, EACH_S = 0.05, 0.0015
"""Seconds from an event until it is sent: the least, and for each watcher."""

AT_ONCE = 8
"""Watchers that are woken at the same moment."""

MAX_WAITING = 4_000_000
"""Bytes that wait for one watcher."""

BEGIN = b"retry: 1000\n\n"

TOO_SLOW = b": This reader was too slow. Its next request goes on where this one ended.\n\n"

_UNRECORDED = (
    TextStreamed,
    ReasoningStreamed,
    ArgumentsStreamed,
    CallProgressed,
    EventsMissed,
    ModelDelayed,
    RunEnded,
)


class Rendered(Struct, frozen=True, gc=False):
    """An event as bytes. ``recorded`` says that the journal has it, too."""

    seq: int
    recorded: bool
    data: bytes


class Watcher:
    """One who watches a run, with the events that wait for them."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.ended = self.too_slow = False
        self._waiting = deque[Rendered]()
        self._size = 0

    def add(self, events: list[Rendered], size: int) -> None:
        """Buffer events. Beyond a limit, the watcher is cut off and reads from the journal."""
        if self._size + size > MAX_WAITING:
            self._waiting.clear()
            self.too_slow = self.ended = True
            self.changed.set()
        elif not self.ended:
            self._waiting.extend(events)
            self._size += size

    def take(self, after: int, since: int) -> bytes:
        """Return what waits: of records after ``after``, and what formed from ``since`` on."""
        self.changed.clear()
        taken = [
            event.data
            for event in self._waiting
            if (event.seq > after if event.recorded else event.seq >= since)
        ]
        self._waiting.clear()
        self._size = 0
        return b"".join(taken)


class Broadcast:
    """The shared reader of one run, for as long as someone watches it and it continues."""

    def __init__(self, world: World, run: str) -> None:
        self.reading = asyncio.Event()
        """Set once it reads: from then on no event is missed."""
        self._world = world
        self._run = run
        self._watchers = list[Watcher]()
        self._events = list[RunEvent]()
        self._forming = Forming()
        self._flushing: asyncio.TimerHandle | None = None

    @property
    def is_watched(self) -> bool:
        """Whether anybody watches."""
        return bool(self._watchers)

    @property
    def watchers(self) -> int:
        """How many watch."""
        return len(self._watchers)

    @property
    def delay(self) -> ModelDelayed | None:
        """Why the model is asked again, and when, as far as this reader has seen."""
        return self._forming.delay

    def join(self) -> Watcher:
        """Return a watcher that gets what has formed, and what comes from now on."""
        watcher = Watcher()
        formed = [_rendered(event) for event in self._forming.events]
        watcher.add(formed, sum(len(event.data) for event in formed))
        if formed:
            watcher.changed.set()
        self._watchers.append(watcher)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """End watching."""
        self._watchers.remove(watcher)

    async def read(self) -> None:
        """Read the run to its end, and end all watchers."""
        try:
            after = max([event.seq for event in (await self._world.get(self._run)).events] or [0])
            self.reading.set()
            async for event in self._world.events(self._run, after=after):
                self._add(event)
        except ArtificerError as error:  # a watcher that comes again sees it
            log.warning("run %s is not watched further: %s", self._run, error.message)
        finally:
            self.reading.set()
            self._flush()
            for watcher in self._watchers:
                watcher.ended = True
                watcher.changed.set()

    def _add(self, event: RunEvent) -> None:
        last = self._events[-1] if self._events else None
        if whole := joined(last, event):
            self._events[-1] = whole
        else:
            self._events.append(event)
        if self._flushing is None:
            seconds = max(INTERVAL_S, EACH_S * len(self._watchers))
            self._flushing = asyncio.get_running_loop().call_later(seconds, self._flush)

    def _flush(self) -> None:
        """Pass new events to all watchers, and wake them a few at a time."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        for event in self._events:
            self._forming.add(event)
        events = [_rendered(event) for event in self._events] if self._watchers else []
        self._events.clear()
        size = sum(len(event.data) for event in events)
        for watcher in self._watchers:
            watcher.add(events, size)
        loop, seconds = asyncio.get_running_loop(), EACH_S * AT_ONCE / 2
        for number, first in enumerate(range(0, len(self._watchers), AT_ONCE)):
            loop.call_later(number * seconds, _wake, self._watchers[first : first + AT_ONCE])


class Broadcasts:
    """The broadcasts of one studio.

    ``executes`` says which runs it executes: these are read on without watchers, so that who comes
    later sees what has formed.
    """

    def __init__(self, world: World, executes: Callable[[str], bool] = lambda _: False) -> None:
        self._world = world
        self._executes = executes
        self._broadcasts: dict[str, Broadcast] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def keep(self, run: str) -> None:
        """Read a run that is executed here, before someone watches it."""
        if run not in self._broadcasts:
            self._begin(run)

    @property
    def watchers(self) -> int:
        """How many watch a run, over all runs."""
        return sum(broadcast.watchers for broadcast in self._broadcasts.values())

    def delay(self, run: str) -> ModelDelayed | None:
        """Return why the model of a run is asked again, and when, where someone has seen it."""
        broadcast = self._broadcasts.get(run)
        return broadcast.delay if broadcast else None

    async def pieces(self, run: str, after: int) -> AsyncGenerator[bytes, None]:
        """Yield the events of a run after a record; a reader that was cut off comes again.

        Raises NotFoundError, TamperedError.
        """
        broadcast = self._broadcasts.get(run) or self._begin(run)
        watcher = broadcast.join()
        try:
            yield BEGIN
            await broadcast.reading.wait()
            recorded = (await self._world.get(run)).events
            if data := b"".join(sse(event) for event in recorded if event.seq > after):
                yield data
            seen = max((event.seq for event in recorded), default=0)
            since = forms_since(recorded)
            while True:
                await watcher.changed.wait()
                ended = watcher.ended
                if data := watcher.take(max(after, seen), since):
                    yield data
                if ended:
                    break
            if watcher.too_slow:
                yield TOO_SLOW
        finally:
            broadcast.leave(watcher)
            is_last = not broadcast.is_watched and not self._executes(run)
            if is_last and self._broadcasts.get(run) is broadcast:
                self._end(run, broadcast)

    async def aclose(self) -> None:
        """End all."""
        await end_all(self._tasks.values())

    def _begin(self, run: str) -> Broadcast:
        for name, other in list(self._broadcasts.items()):  # executed elsewhere since
            if not other.is_watched and not self._executes(name):
                self._end(name, other)
        broadcast = self._broadcasts[run] = Broadcast(self._world, run)
        task = asyncio.create_task(self._read(run, broadcast), name=f"watch {run}")
        task.add_done_callback(lambda _: self._forget(run, broadcast))  # even if it never began
        self._tasks[run] = task
        return broadcast

    async def _read(self, run: str, broadcast: Broadcast) -> None:
        try:
            await broadcast.read()
        finally:
            self._forget(run, broadcast)

    def _end(self, run: str, broadcast: Broadcast) -> None:
        task = self._tasks[run]
        self._forget(run, broadcast)  # at once: nobody joins what ends
        task.cancel()

    def _forget(self, run: str, broadcast: Broadcast) -> None:
        """Let the next watcher begin another one."""
        if self._broadcasts.get(run) is broadcast:
            del self._broadcasts[run]
            del self._tasks[run]


def _rendered(event: RunEvent) -> Rendered:
    return Rendered(event.seq, not isinstance(event, _UNRECORDED), sse(event))


def _wake(watchers: list[Watcher]) -> None:
    for watcher in watchers:
        watcher.changed.set()

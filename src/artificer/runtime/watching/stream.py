"""Streams of a run's events, for readers of any speed.

A reader that falls behind costs no memory: records that no longer fit are read from the journal
again, and pieces of text are joined or dropped, which :class:`EventsMissed` reports.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from msgspec import Struct

from artificer.core.idle import is_idle
from artificer.core.record import Line
from artificer.core.state import RunState
from artificer.errors import OperatorError
from artificer.events import RunEvent, TextStreamed
from artificer.ports import CallProgress, Head
from artificer.runtime.load import read_chain
from artificer.runtime.snapshot import RunStores, state_of
from artificer.runtime.watching.feed import Feed
from artificer.runtime.watching.listening import can_listen, listening
from artificer.runtime.watching.translator import Translator

PAGE = 200
"""Records that are read from the journal at once."""

POLL = 0.25
"""Seconds between two looks at the journal of a run that another process executes."""


class EventReader:
    """Reads one run's events: those that are recorded, then those that happen here.

    Events of records up to ``after`` are not given out.
    """

    def __init__(self, feed: Feed, stores: RunStores, run: str, after: int = 0) -> None:
        self.run = run
        self._feed = feed
        self._stores = stores
        self._after = after
        self._head = Head()
        self._translator = Translator(run)
        self._subscription = feed.subscribe(run)

    def close(self) -> None:
        """End the subscription."""
        self._feed.unsubscribe(self._subscription)

    @property
    def seq(self) -> int:
        """The number of the last record that was read."""
        return self._translator.seq

    async def changed(self, seconds: float | None = None) -> None:
        """Wait until something new happens here, or ``seconds`` have passed."""
        await self._subscription.changed(seconds)

    @contextmanager
    def listening(self, project: Path) -> Iterator[None]:
        """Read, too, what another process streams of the run."""
        with listening(project, self._subscription, lambda: self.seq):
            yield

    def wake(self) -> None:
        """Let :meth:`changed` return."""
        self._subscription.wake()

    async def recorded(self) -> AsyncIterator[RunEvent]:
        """Yield the events of the records that were not read yet, from the journal.

        Raises:
            TamperedError: a record is not what was written.
        """
        while records := await self._stores.journal.read(self.run, self._head.seq, PAGE):
            for line in read_chain(self.run, records, self._stores.blobs, self._head):
                for event in self._line(line):
                    yield event
            self._head = Head(seq=records[-1].seq, hash=records[-1].hash)

    async def happened(self) -> AsyncIterator[RunEvent]:
        """Yield the events of what has happened here since the last call."""
        taken, missed = self._subscription.take()
        lines = [item for item in taken if isinstance(item, Line)]
        if lines and lines[0].seq > self.seq + 1:  # the first ones, or more than could wait
            missed += sum(not isinstance(item, Line) for item in taken)
            taken = []
            async for event in self.recorded():
                yield event
        if missed:
            yield self._translator.missed(missed)
        for item in taken:
            if isinstance(item, Line):
                for event in self._line(item):
                    yield event
                # its own hash is in the record after it, so a later reading begins with it again
                self._head = Head(seq=item.seq - 1, hash=item.prev)
            elif isinstance(item, CallProgress):
                yield self._translator.progress(item)
            else:
                yield self._translator.delta(item)

    def _line(self, line: Line) -> Iterator[RunEvent]:
        if line.seq <= self.seq:
            return
        events = self._translator.record(line)
        yield from (e for e in events if e.seq > max(self._after, self._subscription.adopted))

    async def state(self) -> RunState:
        """Return the state of the run as it is recorded. Raises NotFoundError, TamperedError."""
        return await state_of(self._stores, self.run)

    def ended(self, state: RunState, text: str) -> RunEvent:
        """Return the event that ends the stream."""
        return self._translator.ended(state, text)


class StreamedRun(Protocol):
    """A run, as far as the end of a stream shows it."""

    @property
    def state(self) -> RunState: ...

    @property
    def text(self) -> str: ...


R = TypeVar("R", bound=StreamedRun)


class RunStream(Struct, Generic[R], eq=False, dict=True):
    """The events of a run of this process, as they happen.

    >>> async with agent.stream("Why is the sky blue?") as stream:
    ...     async for event in stream:
    ...         print(event)
    ...     run = await stream.result()

    Leaving the block before the end interrupts the run, which can be resumed. The stream and its
    result raise OperatorError then.
    """

    _new_reader: Callable[[], EventReader]
    _work: Callable[[], Awaitable[R]]
    _task: asyncio.Task[R] | None = None
    _is_over: bool = False

    def __post_init__(self) -> None:
        """Prepare the one iterator that all readers of this stream share."""
        self._events = self._read()

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._reader.run

    async def __aenter__(self) -> Self:
        self._reader = self._new_reader()  # not before: it would stay subscribed
        self._task = asyncio.create_task(self._run(), name=f"run {self.run_id}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reader.close()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        return self._events

    async def text(self) -> AsyncIterator[str]:
        """Yield the pieces of the model's text."""
        async for event in self._events:
            if isinstance(event, TextStreamed):
                yield event.text

    async def result(self) -> R:
        """Wait for the end of the run and return it. Raises what the run raised.

        Raises:
            OperatorError: the run was interrupted, as by leaving the block before its end.
        """
        if self._task is None:
            raise RuntimeError("Use `async with` around the stream.")
        await asyncio.wait([self._task])  # so that only the caller's own cancellation is raised
        if self._task.cancelled():
            raise OperatorError(
                f"Run {self.run_id} was interrupted before its end, as by leaving the block of its "
                "stream.",
                hint=f"Continue it: agent.resume({self.run_id!r}), or `artificer resume "
                f"{self.run_id}`. If it had not begun yet, run its prompt again.",
            )
        return self._task.result()

    async def _run(self) -> R:
        try:
            return await self._work()
        finally:
            self._is_over = True
            self._reader.wake()

    async def _read(self) -> AsyncIterator[RunEvent]:
        task = self._task
        if task is None:
            raise RuntimeError("Use `async with` around the stream.")
        while not (self._is_over or task.done()):
            await self._reader.changed()
            async for event in self._reader.happened():
                yield event
        run = await self.result()
        async for event in self._reader.happened():
            yield event
        yield self._reader.ended(run.state, run.text)


def _is_idle_build(state: RunState) -> bool:
    return state.build is not None and state.standing != "open"


async def watch(
    reader: EventReader,
    runs_here: Callable[[str], bool],
    text_of: Callable[[RunState], str],
    project: Path | None = None,
) -> AsyncIterator[RunEvent]:
    """Yield the events of a run, even of another process, until it has ended or is idle.

    ``runs_here`` says whether this process executes a run. What another process streams comes
    through a socket in the folder of the ``project``.

    Raises:
        NotFoundError: no such run.
    """
    known, looked = -1, -POLL
    with ExitStack() as stack:
        stack.callback(reader.close)
        if project is not None and not runs_here(reader.run) and can_listen():
            stack.enter_context(reader.listening(project))
        while True:
            here = runs_here(reader.run)
            # Pieces of another process come after the records that they follow.
            # All that a run of this process records happens here: its journal is read now and then.
            now = asyncio.get_running_loop().time()
            is_due = not here or now - looked >= POLL
            looked = now if is_due else looked
            sources = (reader.happened, reader.recorded) if is_due else (reader.happened,)
            for source in sources if here else sources[::-1]:
                async for event in source():
                    yield event
            if not here and reader.seq != known:
                known, state = reader.seq, await reader.state()
                if is_idle(state) or _is_idle_build(state):
                    async for event in reader.recorded():  # the state may know of more records
                        yield event
                    if reader.seq != known:
                        continue
                    yield reader.ended(state, text_of(state))
                    return
            await reader.changed(POLL)

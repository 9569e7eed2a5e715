"""The signal notifier: wakes the runs of this process when signals to them arrive."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from artificer.errors import ArtificerError
from artificer.ports import Signals

log = logging.getLogger("artificer.run")

EVERY_S = 0.25
"""Seconds between two looks for signals that another process has posted."""


class SignalNotifier:
    """The `Signals` of a world, watched for all runs of an event loop."""

    def __init__(self, signals: Signals, *, every_s: float = EVERY_S) -> None:
        self._signals = signals
        self._every_s = every_s
        self._arrived: dict[str, Callable[[], None]] = {}
        self._notified_for: dict[str, str] = {}
        self._watching: asyncio.Task[None] | None = None

    def watch(self, run: str, arrived: Callable[[], None]) -> None:
        """Call ``arrived`` when signals to a run of this process arrive, from now on."""
        self._arrived[run] = arrived
        self._notified_for.pop(run, None)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._watch())

    def unwatch(self, run: str) -> None:
        """Stop watching a run that this process no longer executes."""
        self._arrived.pop(run, None)
        self._notified_for = {of: by for of, by in self._notified_for.items() if by != run}
        if not self._arrived and self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def notify_for(self, run: str, by: str) -> None:
        """Notify ``by``, while it is executed here, when signals to the idle run ``run`` arrive.

        If ``by`` is idle too, the run that is notified for it is notified.
        """
        self._notified_for[run] = by

    def is_watched(self, run: str) -> bool:
        """Whether this process executes a run now."""
        return run in self._arrived

    async def post(self, run: str, body: bytes) -> int:
        """Post a signal, and notify its run at once if this process executes it."""
        number = await self._signals.post(run, body)
        self._notify(run)
        return number

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Return the run's signals with a number greater than ``after``, in order."""
        return await self._signals.read(run, after)

    async def has_signals(self, run: str, after: int) -> bool:
        """Whether an idle run has got signals. Where that cannot be read, it has none."""
        try:
            return bool(await self._signals.read(run, after))
        except ArtificerError as error:
            log.warning("signals of run %s cannot be read: %s", run, error.message)
            return False

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Return the position now, and the runs that got signals since an earlier one."""
        return await self._signals.since(position)

    def _notify(self, run: str) -> None:
        while run not in self._arrived and run in self._notified_for:
            run = self._notified_for[run]
        if run in self._arrived:
            self._arrived[run]()

    async def _watch(self) -> None:
        position: int | None = None
        missed = False
        while True:
            try:
                position, runs = await self._signals.since(position)
            except ArtificerError as error:  # a file that cannot be read now may be again later
                log.warning("signals cannot be read: %s", error.message)
                missed = True
            else:
                for run in {*runs, *(self._arrived if missed else ())}:
                    self._notify(run)
                missed = False
            await asyncio.sleep(self._every_s)

"""The sweeper: finds open runs in the journal, and has them executed.

A dispatcher may forget everything, and nobody who posts a signal has to know one. New runs and
signals are found by looking every moment at what is new; everything else by looking at all runs
that are not over, now and then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from artificer.core.idle import is_idle
from artificer.core.signals import Cancel, Interrupt
from artificer.core.submission import Submission
from artificer.dispatch.assigned import AssignedRuns, Leading
from artificer.dispatch.callers import EndedCallers, caller_of, topmost
from artificer.dispatch.segments import CHILD
from artificer.errors import ArtificerError
from artificer.ports import DispatchedRun, Dispatcher
from artificer.runtime.ending import has_signal_of
from artificer.runtime.listing.queued import is_for_workers
from artificer.runtime.load import UNREADABLE, first_spec
from artificer.world import World, storage_of

log = logging.getLogger("artificer.dispatch.sweeper")

PAGE = 100
"""Runs that are read at once."""

TOGETHER_S = 0.02
"""Seconds between two looks at what is new, at least: what comes at once is found together."""

REMEMBERED = 50_000
"""Runs whose submissions are remembered."""

GOING_ON = ("open", "stalled")
"""How runs stand that continue by themselves."""

WAITING = ("waiting", "paused")
"""How runs stand that continue when they get a signal."""


class SweepTimes(Struct, frozen=True):
    """How often to look: at what is new, for what others have lost, and at all that is not over."""

    new_s: float = 0.5
    lost_s: float = 2.0
    all_s: float = 30.0


class Backlog(Struct, frozen=True):
    """The submitted runs that were not over at the last look at all of them."""

    open: int = 0
    stalled: int = 0


class _Known(Struct, frozen=True):
    """The submission of a run, and the run that called it: as its first record says."""

    submission: Submission
    caller: str


class Sweeper:
    """Submits the runs of a world that were submitted to workers, again and again."""

    def __init__(
        self,
        world: World,
        dispatcher: Dispatcher,
        times: SweepTimes | None = None,
        assigned: AssignedRuns | None = None,
    ) -> None:
        """``assigned`` are the runs of this process, if it executes runs of a world that assigns
        them. Otherwise it looks at all, and has none to execute that others have lost.
        """
        self._world = world
        self._storage = world.storage
        self._dispatcher = dispatcher
        self._ended_callers = EndedCallers(world.storage)
        self._assigned = assigned
        self._arrivals = storage_of(world).arrivals
        self._times = times or SweepTimes()
        self._again = set[str]()
        self._again_at = self._again_wait = 0.0
        self._known: OrderedDict[str, _Known | None] = OrderedDict()
        self._newest: frozenset[str] | None = None
        self._position: int | None = None
        self.backlog = Backlog()

    async def run(self) -> None:
        """Sweep until the task is cancelled. What cannot be read or reached is tried again."""
        loop = asyncio.get_running_loop()
        due = lost_due = loop.time()
        standings: tuple[str, ...] = (*GOING_ON, *WAITING)
        while True:
            try:
                if loop.time() >= due:
                    leads, is_first = await self._leads(), standings is not GOING_ON
                    if is_first or leads != "no":
                        await self.look_at_all(standings, wakes=leads == "first" and not is_first)
                    standings, due = GOING_ON, loop.time() + self._times.all_s
                if loop.time() >= lost_due:
                    await self.look_for_lost()
                    lost_due = loop.time() + self._times.lost_s
                await self.look_at_new()
            except ArtificerError as error:
                log.warning("runs cannot be looked for: %s", error.message)
            await self._pause()

    async def look_at_new(self) -> None:
        """Submit the runs that are new, and wake those that have got signals."""
        self._position, signalled = await self._storage.signals.since(self._position)
        if time.monotonic() >= self._again_at:
            signalled, self._again = signalled | self._again, set()
        for run in sorted(signalled):
            await self._signalled(run)
        known, before = self._newest or frozenset[str](), None
        newest = set[str]()
        while page := await self._storage.journal.runs(before, PAGE):
            found = [head.run for head in page if head.head.seq]
            await self._submit_all([run for run in found if run not in known])
            newest.update(found)
            before = page[0].run
            if before in known or self._newest is None or len(newest) > REMEMBERED:
                break
        self._newest = frozenset(newest)
        if not self._again:
            self._again_wait = 0.0

    async def _pause(self) -> None:
        """Wait until it is time to look again, or something new is announced."""
        if self._arrivals is None:
            await asyncio.sleep(self._times.new_s)
        else:
            await self._arrivals.wait(self._times.new_s)
            await asyncio.sleep(TOGETHER_S)

    async def look_for_lost(self) -> None:
        """Have the runs executed here that no worker has any more."""
        if self._assigned is None:
            return
        for run in await self._assigned.lost():
            if await self._submitted(run):
                await self._dispatcher.wake(run, "lost")

    async def look_at_all(
        self, standings: tuple[str, ...] = (*GOING_ON, *WAITING), *, wakes: bool = False
    ) -> None:
        """Submit all runs that stand in one of these ways; with ``wakes`` also those that are
        known here, and wait: nobody else knows them any more.
        """
        if self._position is None:  # what comes from here on, ``look_at_new`` finds
            self._position, _ = await self._storage.signals.since(None)
            page = await self._storage.journal.runs(None, PAGE)
            self._newest = frozenset(head.run for head in page if head.head.seq)
        counts = dict.fromkeys(standings, 0)
        for standing in standings:
            before: str | None = None
            while True:
                listed = await self._world.archive.list_runs(
                    PAGE, before, status=standing, oldest_first=True
                )
                for run in listed.runs:
                    if await self._submitted(run.run):
                        if wakes:
                            await self._dispatcher.wake(run.run, "lost")
                        await self._end_with_caller(run.run)
                        counts[standing] += 1
                before = listed.next
                if before is None:
                    break
        self.backlog = Backlog(counts.get("open", 0), counts.get("stalled", 0))

    async def wake_caller(self, run: str) -> None:
        """Wake the run that called a run's agent, which may continue now, wherever it waits.

        A failure delays it only: the process that has the caller looks at it again.
        """
        try:
            known = await self._about(run)
            if known is not None and known.caller and await self._submit(known.caller):
                await self._dispatcher.wake(known.caller, CHILD)
        except ArtificerError as error:
            log.warning(
                "the caller of run %s cannot be woken: %s", run, error.message, extra={"run": run}
            )

    async def _end_with_caller(self, run: str) -> None:
        """End a run whose caller was ended by a process that died before it could do this."""
        known = await self._about(run)
        if known is not None and (why := await self._ended_callers.why(known.caller)):
            await self._dispatcher.cancel(run, why)

    async def _leads(self) -> Leading:
        """Return whether this worker looks at all runs, for the others too. Those find no more."""
        leads: Leading = "yes" if self._assigned is None else await self._assigned.leads()
        if leads == "no":
            self.backlog = Backlog()
        return leads

    async def _signalled(self, run: str) -> None:
        """Wake a run that got a signal, or the one that it is a part of."""
        try:
            top, state = await topmost(self._storage, run, submitted=True)
            # Nothing is in progress in one that waits: it ends at once, and needs no slot for that.
            kinds = (Cancel, Interrupt) if is_idle(state) else (Cancel,)
            ends = await has_signal_of(self._storage.signals, top, state, *kinds)
            if not await self._submit(top):
                return
            if ends:
                await self._dispatcher.cancel(top, "")
            else:
                await self._dispatcher.wake(top, "signal")
        except UNREADABLE as error:  # it was pruned, or is damaged: nobody executes it
            log.warning(
                "run %s has got a signal and cannot be read: %s",
                run,
                error.message,
                extra={"run": run},
            )
        except ArtificerError as error:
            self._look_again(run, error)

    async def _submit_all(self, runs: Sequence[str]) -> None:
        """Submit runs in their order. What they say is read at once, so that none waits for all.

        A dispatcher that is a server learns of them at once too.
        """
        found = await asyncio.gather(*map(self._about, runs), return_exceptions=True)
        known = []
        for run, about in zip(runs, found, strict=True):
            if isinstance(about, ArtificerError):
                self._look_again(run, about)
            elif isinstance(about, BaseException):
                raise about
            else:
                known.append(run)
        await asyncio.gather(*map(self._submitted, known))

    async def _submitted(self, run: str) -> bool:
        """Submit a run, as `_submit`. One that cannot be read now is looked at again."""
        try:
            return await self._submit(run)
        except ArtificerError as error:
            self._look_again(run, error)
            return False

    def _look_again(self, run: str, error: ArtificerError) -> None:
        """Have a run woken with a later look, because a server did not answer.

        At once, then later and later: who waits for a server may hold up everything else.
        """
        log.warning("run %s cannot be looked at now: %s", run, error.message, extra={"run": run})
        if not self._again:
            self._again_at = time.monotonic() + self._again_wait
            longer = max(2 * self._again_wait, self._times.new_s)
            self._again_wait = min(longer, self._times.all_s)
        if len(self._again) < REMEMBERED:
            self._again.add(run)

    async def _submit(self, run: str) -> bool:
        """Submit a run, if it was submitted to workers; return whether it was."""
        known = await self._about(run)
        if known is None:
            return False
        submission = known.submission
        await self._dispatcher.submit(
            DispatchedRun(run, submission.priority, submission.tenant, submission.lane)
        )
        return True

    async def _about(self, run: str) -> _Known | None:
        """Return what a run says of its execution; None if it is not to be executed here."""
        if run in self._known:
            self._known.move_to_end(run)
            return self._known[run]
        found = await self._read(run)
        self._known[run] = found
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def _read(self, run: str) -> _Known | None:
        journal = self._storage.journal
        try:
            spec = await first_spec(journal, self._storage.blobs, run)
        except UNREADABLE:
            return None
        if spec is None or spec.submission is None:
            return None
        if not await is_for_workers(journal, run, spec):
            log.info("run %s was imported: a person has to resume it", run, extra={"run": run})
            return None
        return _Known(spec.submission, caller_of(run, spec))

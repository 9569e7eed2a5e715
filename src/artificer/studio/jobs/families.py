"""The families of jobs: a run that has called others waits for them, and they are jobs too."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from artificer.core.state import RunState
from artificer.core.waits import CallWait
from artificer.dispatch.awaited import held_back, some_go_on
from artificer.dispatch.callers import MAX_CALLERS, caller_of
from artificer.errors import ArtificerError, NotFoundError
from artificer.ports import DispatchedRun, Storage
from artificer.ports.run_index import above
from artificer.runtime.listing.runs import exists
from artificer.runtime.load import first_spec
from artificer.runtime.snapshot import state_of
from artificer.studio.jobs.exchange import JobEnding
from artificer.studio.jobs.idle import IdleJobs
from artificer.studio.jobs.queue import JobQueue
from artificer.studio.jobs.reach import FamilyReach
from artificer.studio.jobs.rows import JobRow

AWAITED_MS = 5_000
"""How long until a run that waits for others is looked at again, without news of them."""

GOING = frozenset({"queued", "leased"})
"""The states of jobs whose runs continue by themselves."""

T = TypeVar("T")

MAX_KNOWN = 10_000
"""Jobs whose callers, or whose awaited runs, are remembered."""


class JobFamilies:
    """The jobs that wait for each other, and the runs above and below one."""

    def __init__(self, storage: Storage, queue: JobQueue, idle: IdleJobs) -> None:
        self._storage, self._queue, self._idle = storage, queue, idle
        self._awaited: OrderedDict[str, tuple[int, Sequence[CallWait]]] = OrderedDict()
        self._callers: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def parks(self, row: JobRow, state: RunState) -> bool:
        """Whether a job that has become idle waits until none of its runs continues by itself.

        Otherwise the end of any of them queues it: a call may wait for the result of another one.
        """
        _keep(self._awaited, row.run, (row.attempt, state.waits))
        return state.only_waits and not held_back(state)

    async def tell(self, row: JobRow, ending: JobEnding, reach: FamilyReach) -> None:
        """Queue the runs that a job waits for, and have the job looked at that waits for it."""
        if ending.error is not None:
            return
        if ending.outcome != "children":
            self._idle.hurry(await self._caller(row.run) or above(row.run))
            return
        runs = [run for run in ending.runs if reach.has_run(row.run, run)]
        for run in runs:
            if await exists(self._storage.journal, run):
                wanted = DispatchedRun(run, row.priority, row.tenant, row.lane)
                if not self._queue.add(wanted, row.attempts):
                    self._idle.hurry_queued(run)
        states = {self._state(run) for run in runs}
        if states == {"done"} or (row.awaits and not states & GOING):
            self._idle.hurry(row.run)

    async def waits_on(self, row: JobRow) -> bool:
        """Whether a parked job waits for runs of which one continues by itself."""
        if not row.awaits:
            return False
        attempt, waits = self._awaited.get(row.run, (0, ()))
        with suppress(ArtificerError):  # its worker will say what is wrong with it
            if attempt != row.attempt:
                waits = (await state_of(self._storage, row.run)).waits
                _keep(self._awaited, row.run, (row.attempt, waits))
            if any(self._state(wait.run) in GOING for wait in reversed(waits)):
                return True
            return await some_go_on(self._storage, row.run, waits)
        return False

    async def callers(self, run: str) -> tuple[str, ...]:
        """Return the runs whose calls have led to this one, the nearest first, as they recorded."""
        found = self._callers.get(run)
        if found is None:
            found, below = (), run
            while len(found) < MAX_CALLERS and (caller := await self._caller(below)):
                found, below = (*found, caller), caller
            _keep(self._callers, run, found)
        return found

    async def _caller(self, run: str) -> str:
        """Return the run that called one which workers execute apart; empty for any other.

        That is the nearest one by its name: a run cannot say that one further up has called it.
        """
        with suppress(NotFoundError):
            spec = await first_spec(self._storage.journal, self._storage.blobs, run)
            caller = caller_of(run, spec) if spec is not None else ""
            between, _, _ = run.rpartition(".")
            while caller and len(between) > len(caller):
                if await exists(self._storage.journal, between):
                    return ""
                between, _, _ = between.rpartition(".")
            return caller
        return ""

    def _state(self, run: str) -> str:
        with suppress(NotFoundError):
            return self._queue.get(run).state
        return ""


def _keep(known: OrderedDict[str, T], name: str, value: T) -> None:
    known[name] = value
    known.move_to_end(name)
    while len(known) > MAX_KNOWN:
        known.popitem(last=False)

"""The worker of a job reads and writes: records, blobs, signals, budgets, versions.

Everything is checked as if it came from a stranger: the lease, the run, the epoch, the chain, the
blobs that are named, the amounts.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from artificer.core.spec import RunSpec
from artificer.errors import (
    Fenced,
    ForbiddenError,
    InvalidValueError,
    InvariantError,
    NotFoundError,
)
from artificer.ports import Head, Record, Reservation, Spending, SpendingLimit, Spent
from artificer.runtime.limits.accounts import EXPIRES_MS
from artificer.runtime.load import first_spec
from artificer.studio.jobs.blobs import JobBlobs, references
from artificer.studio.jobs.grants import RELEASED
from artificer.studio.jobs.rows import JobRow
from artificer.studio.jobs.service import Jobs

MAX_REPLIES = 10_000
"""Answers that are kept for requests that are sent again."""

MAX_LEASES = 1_000
"""Leases whose blobs are remembered; those of others are read again."""

READ_ONLY = -1
"""In place of an attempt: the blobs of a caller, for the jobs below it."""


class JobRecords:
    """The storage of a world, as the workers of jobs see it."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._storage = jobs.storage
        self._blobs: OrderedDict[tuple[str, int], JobBlobs] = OrderedDict()
        self._replies: OrderedDict[tuple[str, str], asyncio.Future[Any]] = OrderedDict()
        self._reading = asyncio.Lock()

    async def read(self, row: JobRow, run: str, after: int, limit: int) -> list[Record]:
        """Return records of a run, or of one whose call has led to it. Raises ForbiddenError.

        Runs below may have been written by others: their blobs are the job's from then on.
        """
        is_own = self._jobs.reach.has_run(row.run, run)
        if not is_own and run not in await self._jobs.families.callers(row.run):
            self.own(row, run)
        found = await self._storage.journal.read(run, after, limit)
        if is_own and run != row.run:
            (await self.blobs(row)).allow(d for one in found for d in references(one.body))
        return found

    async def append(
        self,
        row: JobRow,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes],
        spending: Spending,
        *,
        run: str,
        is_repeated: bool,
    ) -> Head:
        """Append records to a run of the job, as the journal does.

        One that is repeated, because its answer was lost, succeeds if it had succeeded. Raises
        Fenced, BudgetError, ForbiddenError, InvalidValueError.
        """
        self._fence(row, run, epoch)
        spending = self._checked(row, spending)
        named = {digest for record in records for digest in references(record.body)}
        named -= {record.hash for record in records}
        await (await self.blobs(row)).check(named, blobs)
        try:
            return await self._storage.journal.append(run, epoch, head, records, blobs, spending)
        except InvariantError as error:
            raise InvalidValueError("The records", "/records", "are not a chain") from error
        except Fenced:
            if is_repeated and records:
                found = await self._storage.journal.read(run, head.seq, len(records))
                if [one.hash for one in found] == [one.hash for one in records]:
                    end = Head(seq=found[-1].seq, hash=found[-1].hash)
                    return await self._storage.journal.append(run, epoch, end, [])
            raise

    async def give_up(self, row: JobRow, run: str, epoch: int) -> None:
        """Release a run that the lease has acquired. Raises ForbiddenError, Fenced."""
        self._fence(row, run, epoch)
        await self._storage.journal.release(run, epoch)
        self._jobs.grants.grant(row, run, RELEASED)

    async def blobs(self, row: JobRow) -> JobBlobs:
        """Return the blobs of a lease."""
        async with self._reading:
            runs = {run for run, _, _ in self._jobs.grants.grants(row.run)}
            return await self._blobs_of(row.run, row.attempt, runs)

    async def _blobs_of(self, job: str, attempt: int, runs: Collection[str] = ()) -> JobBlobs:
        found = self._blobs.get((job, attempt))
        if found is None:
            found = JobBlobs(job, self._storage.blobs, self._jobs.grants)
            await found.read_runs(self._storage.journal, {job, *runs})
            self._blobs[job, attempt] = found
        self._blobs.move_to_end((job, attempt))
        while len(self._blobs) > MAX_LEASES:
            self._blobs.popitem(last=False)
        return found

    async def put_blob(self, row: JobRow, data: bytes) -> str:
        """Store bytes, which are the job's from now on."""
        digest = await asyncio.to_thread(self._storage.blobs.put, data)
        blobs = await self.blobs(row)
        await asyncio.to_thread(blobs.put, data)
        return digest

    async def get_blob(self, row: JobRow, digest: str) -> bytes:
        """Return bytes of the job. Raises NotFoundError, also for those of other runs."""
        blobs = await self.blobs(row)
        if not await asyncio.to_thread(blobs.has, digest):
            await self._read_signals(row, blobs)
            if not await asyncio.to_thread(blobs.has, digest):
                await self._have_callers(row, digest)
        return await asyncio.to_thread(self._storage.blobs.get, digest)

    async def _have_callers(self, row: JobRow, digest: str) -> None:
        """Raise NotFoundError unless a run whose call has led to the job's has a blob.

        It may be read, but no record of the job may refer to it.
        """
        for caller in await self._jobs.families.callers(row.run):
            async with self._reading:
                blobs = await self._blobs_of(caller, READ_ONLY)
            if not await asyncio.to_thread(blobs.has, digest):
                await blobs.read_runs(self._storage.journal, [caller])
            if await asyncio.to_thread(blobs.has, digest):
                return
        raise NotFoundError(f"There is no blob {digest} of this job.")

    async def _read_signals(self, row: JobRow, blobs: JobBlobs) -> None:
        """Collect the attachments of later messages."""
        for run in {run for run, _, _ in self._jobs.grants.grants(row.run)} | {row.run}:
            for _, body in await self._storage.signals.read(run):
                blobs.allow(references(body))

    async def signals(self, row: JobRow, run: str, after: int) -> list[tuple[int, bytes]]:
        """Return signals to a run of the job. Raises ForbiddenError."""
        self.own(row, run)
        return await self._storage.signals.read(run, after)

    async def post(self, row: JobRow, run: str, body: bytes, request: str) -> int:
        """Post a signal to a run of the job. Raises ForbiddenError."""
        self.own(row, run)
        await (await self.blobs(row)).check(references(body))
        number: int = await self.once(row, request, lambda: self._storage.signals.post(run, body))
        return number

    async def spend(self, row: JobRow, spending: Spending, request: str) -> None:
        """Settle, then reserve. Raises BudgetError, ForbiddenError."""
        checked = self._checked(row, spending)
        budget = self._storage.budget

        async def change() -> None:
            if checked.settlements:
                await budget.settle(checked.settlements)
            if checked.reservations:
                await budget.reserve(checked.reservations)

        await self.once(row, request, change)

    async def spent(self, row: JobRow, account: str, now: int) -> Spent:
        """Return what an account of the job has spent. Raises ForbiddenError."""
        self._own_account(row, account)
        return await self._storage.budget.spent(account, now)

    async def version(
        self, row: JobRow, name: str, number: int | None, run: str
    ) -> tuple[int, str] | None:
        """Return a version of a workspace, or its newest one. Raises ForbiddenError."""
        await self._own_workspace(row, name, run)
        versions = self._storage.versions
        if number is None:
            found = await asyncio.to_thread(versions.head, name, run)
        else:
            digest = await asyncio.to_thread(versions.get, name, number, run)
            found = None if digest is None else (number, digest)
        if found is not None:
            (await self.blobs(row)).allow([found[1]])
        return found

    async def add_version(self, row: JobRow, name: str, number: int, digest: str, run: str) -> bool:
        """Add a version of a workspace; True also for one that was added before, and is the same.

        Raises ForbiddenError.
        """
        await self._own_workspace(row, name, run, writes=True)
        blobs = await self.blobs(row)
        if not self._jobs.reach.has_version(is_own=await asyncio.to_thread(blobs.has, digest)):
            raise ForbiddenError("A version is a blob of the job.")
        return await asyncio.to_thread(self._storage.versions.add, name, number, digest, run)

    async def workspaces(self, row: JobRow, run: str) -> list[str]:
        """Return the workspaces that a job may see, or those that a run of it has drafts of."""
        names = await asyncio.to_thread(self._storage.versions.names, run)
        if run:
            self.own(row, run)
            return names
        spec = await self._spec(row)
        return [name for name in names if self._jobs.reach.has_workspace(spec, name)]

    # --- checks -----------------------------------------------------------------------------

    def own(self, row: JobRow, run: str) -> None:
        """Raise ForbiddenError unless a run belongs to a job."""
        if not self._jobs.reach.has_run(row.run, run):
            raise ForbiddenError(f"Run {run[:200]!r} does not belong to the job {row.run}.")

    def _fence(self, row: JobRow, run: str, epoch: int) -> None:
        """Refuse an epoch that the lease does not have: a worker could guess that of another."""
        self.own(row, run)
        if epoch == RELEASED or self._jobs.grants.epoch(row, run) != epoch:
            raise Fenced(f"The lease does not hold run {run[:200]!r} at epoch {epoch}.")

    def _own_account(self, row: JobRow, account: str) -> None:
        if not self._jobs.reach.has_account(row.run, account, self._jobs.world.clock.now()):
            raise ForbiddenError(f"The job {row.run} has no account {account[:200]!r}.")

    async def _own_workspace(
        self, row: JobRow, name: str, run: str, *, writes: bool = False
    ) -> None:
        if run:
            self.own(row, run)
        elif not self._jobs.reach.has_workspace(await self._spec(row), name, writes=writes):
            raise ForbiddenError(f"The job {row.run} has no workspace {name[:200]!r}.")

    async def _spec(self, row: JobRow) -> RunSpec | None:
        storage = self._storage
        with suppress(NotFoundError):
            return await first_spec(storage.journal, storage.blobs, row.run)
        return None

    def _checked(self, row: JobRow, spending: Spending) -> Spending:
        """Return spending with the limits of this world, which a worker cannot widen."""
        accounts = [one.account for one in spending.settlements]
        for account in [*accounts, *(one.account for one in spending.reservations)]:
            self._own_account(row, account)
        return Spending(spending.settlements, [self._limited(r) for r in spending.reservations])

    def _limited(self, wanted: Reservation) -> Reservation:
        """Return a reservation within the limits of this world, by its clock."""
        now = self._jobs.reach.time(wanted.at, self._jobs.world.clock.now())
        until = now + min(EXPIRES_MS, max(0, wanted.until - wanted.at))
        limit = wanted.limit
        if ":" not in wanted.account:
            own = self._jobs.world.config.budget.day
            limit = SpendingLimit(
                _least(own.tokens, limit.tokens), _least(own.micros, limit.micros)
            )
        return Reservation(wanted.account, wanted.number, wanted.need, limit, now, until)

    async def once(self, row: JobRow, request: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do what a request asks for; the same request again is answered as before.

        Also one that comes while the first is being done: its sender did not wait.
        """
        if not request:
            return await work()
        key = row.holder, request
        doing = self._replies.get(key)
        if doing is None or (doing.done() and (doing.cancelled() or doing.exception())):
            doing = self._replies[key] = asyncio.ensure_future(work())
            while len(self._replies) > MAX_REPLIES:
                self._replies.popitem(last=False)
        return await asyncio.shield(doing)


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)

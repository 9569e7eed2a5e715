"""The journal of a world that another machine keeps: every record goes there before an effect."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from msgspec import Struct

from artificer.errors import ArtificerError, Fenced
from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Claim,
    Head,
    Lease,
    Record,
    RunHead,
    Spending,
)
from artificer.storage.chain import check_name, verify_link
from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.leases import HeldJobs
from artificer.storage.remote.shapes import head_of, spending_of

PAGE = 1_000


class _Acquired(Struct):
    epoch: int
    head: Head
    former: str


class _Headed(Struct):
    head: Head


class _Line(Struct):
    seq: int
    hash: str
    body: str


class _Lines(Struct):
    records: list[_Line]
    more: bool


class _Nothing(Struct):
    pass


class RemoteJournal:
    """A `Journal` of the runs that this process has leased."""

    def __init__(self, api: ApiClient, held: HeldJobs) -> None:
        self._api = api
        self._held = held

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        """Become the run's one writer: with the lease's own epoch at first, then with new ones.

        The server has looked at the former owners: those that it names may still act.

        Raises:
            Fenced: the run is not leased, or does not end at the claim's head.
        """
        check_name(run)
        job = self._held.of(run)
        if run == job.run and not job.is_taken:
            job.token()
            found = _Acquired(job.fence, job.head, job.former)
            if claim.head not in (None, found.head):
                raise Fenced(f"Run {run} changed while it was being read.")
            claim.admit(found.former)
            job.is_taken = True
        else:
            body = {**job.token(), "of": run, "head": head_of(claim.head)}
            path = ("jobs", job.run, "acquire")
            found = await self._api.ask(_Acquired, "POST", path, None, body)
            try:
                claim.admit(found.former)
            except ArtificerError:
                await self.release(run, found.epoch)
                raise
        self._held.reached(run, found.epoch, found.head)
        return Lease(epoch=found.epoch, head=found.head)

    async def release(self, run: str, epoch: int) -> None:
        """Release the run: the next owner knows that its calls have ended."""
        try:
            job = self._held.of(run)
            body = {**job.token(), "of": run, "epoch": epoch}
            await self._api.ask(_Nothing, "POST", ("jobs", job.run, "give-up"), None, body)
        except Fenced:
            return  # someone else has it

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        """Append all records or none, durably, on the server; return the new head.

        An append whose answer was lost is sent again, and counts once.

        Raises:
            Fenced: the lease or the run was lost, or its head is not ``head``.
            BudgetError: a limit does not hold a reservation; nothing was appended.
            UnreachableError: nobody knows whether it was appended.
        """
        verify_link(run, head, records)
        job = self._held.of(run)
        body = {
            **job.token(),
            "of": run,
            "epoch": epoch,
            "head": head_of(head),
            "records": [_Line(one.seq, one.hash, one.body.decode()) for one in records],
            "blobs": [base64.b64encode(blob).decode() for blob in blobs],
            "spending": spending_of(spending),
            "repeated": False,
        }
        path = ("jobs", job.run, "records")
        found = await self._api.ask(_Headed, "POST", path, None, body)
        self._held.reached(run, epoch, found.head)
        return found.head

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """Return the run's records with ``seq > after``, in order. Raises Fenced."""
        check_name(run)
        job, found = self._held.reading(run), list[Record]()
        while limit is None or len(found) < limit:
            page = PAGE if limit is None else min(PAGE, limit - len(found))
            query = {**job.token(), "of": run, "after": max(0, after), "limit": page}
            path = ("jobs", job.run, "records")
            answer = await self._api.ask(_Lines, "GET", path, query)
            found += [Record(run, one.seq, one.hash, one.body.encode()) for one in answer.records]
            if not answer.more or not answer.records:
                break
            after = found[-1].seq
        return found

    async def runs(self, before: str | None = None, limit: int | None = None) -> list[RunHead]:
        """Return the runs that this process has acquired, oldest first."""
        found = self._held.runs()
        names = [row.run for row in found]
        if before is not None:
            found = found[: names.index(before)] if before in names else []
        return found if limit is None else found[max(0, len(found) - limit) :]

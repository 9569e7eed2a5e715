"""A journal around another one, which tests break at a point."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Claim,
    Head,
    Journal,
    Lease,
    Record,
    RunHead,
    Spending,
)


class WrappedJournal:
    """Does as the inner journal does. Subclasses act before and after its appends."""

    def __init__(self, inner: Journal) -> None:
        self.inner = inner
        self.appends = 0

    async def before(self) -> None:
        """Act before an append, whose number ``appends`` is."""

    async def after(self, run: str, records: Sequence[Record]) -> None:
        """Act after an append, before its caller goes on."""

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        return await self.inner.acquire(run, claim)

    async def release(self, run: str, epoch: int) -> None:
        await self.inner.release(run, epoch)

    async def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Head:
        self.appends += 1
        await self.before()
        new = await self.inner.append(run, epoch, head, records, blobs, spending)
        await self.after(run, records)
        return new

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        return await self.inner.read(run, after, limit)

    async def runs(self, before: str | None = None, limit: int | None = None) -> list[RunHead]:
        return await self.inner.runs(before, limit)

"""Journals that tests break: around another one, at a point; or with certain records."""

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
from artificer.storage.memory import MemoryJournal


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


class Saying(MemoryJournal):
    """A journal that holds whatever it is told to."""

    def __init__(self, records: list[Record]) -> None:
        super().__init__()
        self.records = records

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        return self.records

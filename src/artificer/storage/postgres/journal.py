"""The journal in PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from contextlib import suppress

from psycopg import Connection

from artificer.errors import TamperedError
from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Claim,
    Head,
    Lease,
    Placed,
    Record,
    RunHead,
    Spending,
)
from artificer.storage.audit import Tip
from artificer.storage.chain import check_name
from artificer.storage.notes import RunImported
from artificer.storage.postgres.append_statement import Append
from artificer.storage.postgres.appends import unit_of
from artificer.storage.postgres.blobs import CommittedBlobs
from artificer.storage.postgres.chaining import catch_up, end_of
from artificer.storage.postgres.checking import audit, rebuild
from artificer.storage.postgres.connection import Server
from artificer.storage.postgres.reader import (
    check_epoch,
    read_placed,
    read_records,
    read_runs,
    unsigned,
)
from artificer.storage.postgres.signals import PostgresSignals
from artificer.storage.postgres.writer import PostgresWriter


class PostgresJournal:
    """A `Journal` in PostgreSQL, for any number of processes on any number of machines."""

    def __init__(self, writer: PostgresWriter, server: Server, signals: PostgresSignals) -> None:
        self._writer = writer
        self._server = server
        self.small = CommittedBlobs(server)
        """The blobs that were committed with records."""
        self.signals = signals
        """The signals to the runs of this journal."""
        self._epochs: dict[str, int] = {}

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        """Become the run's one writer: a new epoch, higher than any before.

        Raises:
            Fenced: the run does not end at the claim's head; nothing has changed.
            OperatorError: the database could not be written; nothing has changed.
        """
        check_name(run)
        lease = await self._writer.perform(lambda work: work.acquire(run, claim))
        self._epochs[run] = lease.epoch
        return lease

    async def release(self, run: str, epoch: int) -> None:
        """Give the run up, unless someone else has acquired it since.

        Raises:
            OperatorError: the database could not be written; nothing has changed.
        """
        await self._writer.perform(lambda work: work.release(run, epoch))
        if self._epochs.get(run) == epoch:
            del self._epochs[run]

    def append(
        self,
        run: str,
        epoch: int,
        head: Head,
        records: Sequence[Record],
        blobs: Sequence[bytes] = (),
        spending: Spending = NO_SPENDING,
    ) -> Awaitable[Head]:
        """Append all records or none, durably, and return the new head. See `Journal.append`.

        Raises:
            Fenced: someone else acquired the run, or its head is not ``head``.
            MovedError: the database has lost what was appended before.
            BudgetError: a limit does not hold a reservation; nothing has changed.
            TamperedError: what an account has spent is not what was written.
            InvariantError: the records do not continue the chain from ``head``.
            OperatorError: the database could not be written; nothing has changed, and the same
                append may be tried again.
        """
        append = Append(run, epoch, head, records, blobs, spending)
        return self._writer.add(unit_of(append, is_ours=self._epochs.get(run) == epoch))

    async def check(self, run: str, epoch: int) -> None:
        """Check that nobody has acquired the run since. Raises Fenced."""
        await self._server.ask(lambda db: check_epoch(db, run, epoch))

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """Return the first ``limit`` records with ``seq > after``; empty for an unknown run.

        Raises:
            TamperedError: a record is not what was written.
        """
        check_name(run)
        return await self._server.ask(lambda db: read_records(db, run, after, limit))

    async def runs(self, before: str | None = None, limit: int | None = None) -> list[RunHead]:
        """Return runs, oldest first; of those older than ``before``, the newest ``limit``."""
        return await self._server.ask(lambda db: read_runs(db, before, limit))

    async def position(self) -> int:
        """How many records and notes the world's chain has: what joins later comes after them."""
        return (await self.tip()).position

    async def placed(self, after: int, upto: int) -> list[Placed]:
        """Return the records at positions above ``after`` up to ``upto``. Raises TamperedError."""
        return await self._server.ask(lambda db: read_placed(db, after, upto))

    async def erase(self, run: str, epoch: int, upto: int) -> None:
        """Remove the contents of a run's first records and signals; the chains keep the hashes.

        Raises:
            Fenced: someone else acquired the run.
        """
        await self._writer.perform(lambda work: work.erase(run, epoch, upto))

    async def forget(self, digests: Iterable[str], at: int) -> bool:
        """Remove blobs if the world is still at a position; return whether it is."""
        wanted = list(digests)
        return await self._writer.perform(lambda work: work.forget(wanted, at))

    async def unsigned(self, run: str) -> int:
        """The last record of a run that may name signals which are not here; 0 for none."""
        return await self._server.ask(lambda db: unsigned(db, run))

    async def note_import(self, run: str, head: Head, taken: int) -> None:
        """Write down that a run which took signals elsewhere is about to be added."""
        check_name(run)
        note = RunImported(run=run, n=taken, seq=head.seq, hash=head.hash)
        await self._writer.perform(lambda work: work.note(note), notes=True)

    async def hashes(self, run: str) -> list[str]:
        """The hashes of a run's records, in order; also of those that were pruned."""
        query = "SELECT hash FROM records WHERE run = %s ORDER BY seq"
        rows = await self._server.ask(lambda db: db.execute(query, (run,)).fetchall())
        return [hash_ for (hash_,) in rows]

    async def tip(self) -> Tip:
        """Where the world's chain ends, when all that can has joined it. Raises TamperedError."""
        return await self._server.ask(self._caught_up)

    async def world_at(self, position: int) -> str | None:
        """The world's hash at a position; None when it does not reach it."""
        query = "SELECT world FROM chain WHERE position = %s"
        row = await self._server.ask(lambda db: db.execute(query, (position,)).fetchone())
        return None if row is None else row[0]

    async def audit(self) -> list[str]:
        """Return what is wrong with what is stored, each as one sentence; empty when nothing is."""
        with suppress(TamperedError):  # the audit says of what
            await self.tip()
        return await self._server.ask(audit)

    async def rebuild(self) -> list[str]:
        """Restore tables from the notes, if the chain is intact; return what was done."""
        if await self._server.ask(lambda db: audit(db, cached=False)):
            return []
        return await self._writer.perform(rebuild, notes=True)

    def _caught_up(self, db: Connection) -> Tip:
        return end_of(db).tip if self._server.database.read_only else catch_up(db)

"""The journal in SQLite: one file per world, for any number of processes on one machine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Self, TypeVar

from artificer.errors import AuthorError
from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Claim,
    Durability,
    Head,
    Lease,
    Placed,
    Record,
    RunHead,
    Spending,
)
from artificer.ports.clock import wall_time
from artificer.storage.audit import Tip
from artificer.storage.chain import check_name, verify_link
from artificer.storage.notes import RunImported
from artificer.storage.sqlite import budget
from artificer.storage.sqlite.anchor import newest_mark, world_at
from artificer.storage.sqlite.budget import SqliteBudget
from artificer.storage.sqlite.checking import audit, chain_is_whole
from artificer.storage.sqlite.damage import damage_problems
from artificer.storage.sqlite.opening import anchor_problems, open_for_reading, open_for_writing
from artificer.storage.sqlite.reader import (
    Connected,
    Reader,
    read_placed,
    read_position,
    read_records,
    read_runs,
    read_tip,
    unsigned,
)
from artificer.storage.sqlite.rebuild import rebuild
from artificer.storage.sqlite.signals import SqliteSignals
from artificer.storage.sqlite.small import SqliteSmall
from artificer.storage.sqlite.transaction import Transaction
from artificer.storage.sqlite.versions import SqliteVersions
from artificer.storage.sqlite.writer import NoWriter, Writer

T = TypeVar("T")


class SqliteJournal:
    """A `Journal` in the file ``path``, used by one event loop between ``open`` and ``aclose``.

        async with SqliteJournal("journal.db") as journal:
            lease = await journal.acquire("run-1")

    ``durability`` says what an append survives once it has returned: ``power`` (an fsync per
    commit) or only the death of the ``process``. While another process writes the same file this
    one waits, for ``busy_seconds``. A crash leaves a prefix of what was committed. ``now`` is the
    time of signals, in milliseconds.

    With ``read_only`` nothing is made or changed, and what would write raises OperatorError. The
    folder may then be one that cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        durability: Durability = "power",
        *,
        busy_seconds: float = 10.0,
        read_only: bool = False,
        now: Callable[[], int] = wall_time,
    ) -> None:
        self._path = Path(path).absolute()
        self._read_only = read_only
        self._durability = durability
        self._busy_seconds = busy_seconds
        self._now = now
        self._writer: Writer | None = None
        self._ages: dict[str, int] = {}
        self._births = count(1)
        self._reader: Reader | None = None
        self._small: SqliteSmall | None = None
        self.versions = SqliteVersions(self._path, durability, busy_seconds)
        """The versions of this world's workspaces."""

    async def open(self) -> None:
        """Open the file, making it when it is absent.

        Raises:
            ConfigError: the file is not a journal, or one of a newer format.
            TamperedError: the file is damaged, or ends before its anchor; nothing was changed.
            OperatorError: the file cannot be opened, or stays locked.
            AuthorError: this journal was opened before.
        """
        if self._writer is not None:
            raise AuthorError(f"The journal {self._path} was already opened: create another one.")
        if self._read_only:
            database = await asyncio.to_thread(open_for_reading, self._path, self._busy_seconds)
            self._writer = NoWriter(self._path)
            self._reader = Reader(database, self._path)
            self._small = SqliteSmall(database, self._path)
            self.versions.read_only = database
            return
        opened = await asyncio.to_thread(
            open_for_writing, self._path, self._durability, self._busy_seconds
        )
        self._writer = Writer(opened.writing, self._path, self._busy_seconds, opened.anchor)
        self._reader = Reader(Connected(opened.reading), self._path)
        self._small = SqliteSmall(Connected(opened.blobs), self._path)
        self.versions.anchor = opened.anchor

    @property
    def small(self) -> SqliteSmall:
        """The blobs that were appended together with records."""
        return self._opened(self._small)

    @property
    def signals(self) -> SqliteSignals:
        """The signals to the runs of this journal."""
        return SqliteSignals(self._opened(self._writer), self._opened(self._reader), self._now)

    @property
    def budget(self) -> SqliteBudget:
        """The budgets that the runs of this journal spend from."""
        return SqliteBudget(self._opened(self._writer), self._opened(self._reader))

    async def aclose(self) -> None:
        """Finish the appends that wait, then close the file. May be called more than once."""
        self.versions.close()
        if self._reader:
            await self._reader.aclose()
        if self._small:
            self._small.close()
        if self._writer:
            await self._writer.aclose()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        """Become the run's one writer: a new epoch, higher than any before.

        Raises:
            Fenced: the run does not end at the claim's head; nothing has changed.
            OperatorError: the file could not be written; nothing has changed.
        """
        check_name(run)
        age = self._ages.get(run) or next(self._births)
        lease = await self._opened(self._writer).perform(
            lambda transaction: transaction.acquire(run, claim), age
        )
        self._ages[run] = age
        return lease

    async def release(self, run: str, epoch: int) -> None:
        """Give the run up, unless someone else has acquired it since.

        Raises:
            OperatorError: the file could not be written; nothing has changed.
        """
        await self._opened(self._writer).perform(
            lambda transaction: transaction.release(run, epoch), self._ages.pop(run, 0)
        )

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

        Cancelling a task that waits for it takes effect when the append has ended.

        Raises:
            Fenced: someone else acquired the run, or its head is not ``head``.
            BudgetError: a limit does not hold a reservation; nothing has changed.
            TamperedError: what an account has spent is not what was written.
            InvariantError: the records do not continue the chain from ``head``.
            OperatorError: the file could not be written; nothing has changed, and the same append
                may be tried again.
        """

        def work(transaction: Transaction) -> Head:
            new_head = verify_link(run, head, records)
            changes = budget.changes(transaction, spending)  # whatever refuses comes first
            transaction.append(run, epoch, head, records, new_head, blobs)
            budget.write(transaction, changes)
            return new_head

        at_once = len(self._ages) == 1  # no other run is executed here
        return self._opened(self._writer).perform(
            work, self._ages.get(run, 0), at_once=at_once, shielded=True
        )

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        """Return the first ``limit`` records with ``seq > after``; empty for an unknown run.

        Raises:
            TamperedError: a record is not what was written.
        """
        check_name(run)
        return await self._opened(self._reader).ask(lambda db: read_records(db, run, after, limit))

    def records(self, run: str) -> list[Record]:
        """Return all records of a run, in any thread and even when the journal is closed.

        Raises:
            TamperedError: a record is not what was written.
        """
        return self._opened(self._small).ask(lambda db: read_records(db, run, 0))

    async def position(self) -> int:
        """How many records and notes the world has: what comes later has a higher position."""
        return await self._opened(self._reader).ask(read_position)

    async def placed(self, after: int, upto: int) -> list[Placed]:
        """Return the records at positions above ``after`` up to ``upto``. Raises TamperedError."""
        return await self._opened(self._reader).ask(lambda db: read_placed(db, after, upto))

    async def erase(self, run: str, epoch: int, upto: int) -> None:
        """Remove the contents of a run's first records and signals; the chains keep the hashes.

        Raises:
            Fenced: someone else acquired the run.
        """
        await self._opened(self._writer).perform(lambda work: work.erase(run, epoch, upto))

    async def forget(self, digests: Iterable[str], at: int) -> bool:
        """Remove blobs if the world is still at a position; return whether it is."""
        wanted = list(digests)
        return await self._opened(self._writer).perform(lambda work: work.forget(wanted, at))

    async def unsigned(self, run: str) -> int:
        """The last record of a run that may name signals which are not here; 0 for none."""
        return await self._opened(self._reader).ask(lambda db: unsigned(db, run))

    async def note_import(self, run: str, head: Head, taken: int) -> None:
        """Write down that a run which took signals elsewhere is about to be added."""
        check_name(run)
        note = RunImported(run=run, n=taken, seq=head.seq, hash=head.hash)
        await self._opened(self._writer).perform(lambda work: work.note(note))

    async def hashes(self, run: str) -> list[str]:
        """The hashes of a run's records, in order; also of those that were pruned."""
        query = "SELECT hash FROM records WHERE run = ? ORDER BY seq"
        return await self._opened(self._reader).ask(
            lambda db: [hash_ for (hash_,) in db.execute(query, (run,))]
        )

    async def tip(self) -> Tip:
        """Where the world's chain ends."""
        return await self._opened(self._reader).ask(read_tip)

    async def world_at(self, position: int) -> str | None:
        """The world's hash at a position; None when it does not reach it."""
        return await self._opened(self._reader).ask(lambda db: world_at(db, position))

    async def runs(self, before: str | None = None, limit: int | None = None) -> list[RunHead]:
        """Return runs, oldest first; of those older than ``before``, the newest ``limit``."""
        return await self._opened(self._reader).ask(lambda db: read_runs(db, before, limit))

    async def audit(self) -> list[str]:
        """Return what is wrong with what is stored, each as one sentence; empty when nothing is."""
        reader = self._opened(self._reader)
        mark = await asyncio.to_thread(newest_mark, self._path)  # before the journal: see there
        return [
            *await reader.ask(lambda db: anchor_problems(db, self._path, mark)),
            *await asyncio.to_thread(damage_problems, self._path),
            *await reader.ask(audit),
        ]

    async def rebuild(self) -> list[str]:
        """Restore tables from the notes, if the chain is intact; return what was done."""
        if not await self._opened(self._reader).ask(chain_is_whole):
            return []
        return await self._opened(self._writer).perform(rebuild)

    async def anchor(self) -> None:
        """Make durable, outside the file, that the journal has come this far: see `Anchored`.

        Raises:
            OperatorError: the anchor cannot be written, or a file of the journal is gone.
        """
        await self._opened(self._writer).anchor()

    def _opened(self, part: T | None) -> T:
        if part is None:
            raise AuthorError(f"The journal {self._path} is not open.")
        return part

"""Units of work that share a commit in PostgreSQL: each has its own outcome, whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from cut_line import CutLine, cutting
from postgres_server import PostgresServer
from psycopg import Connection

from artificer.errors import Fenced, OperatorError
from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Amount,
    Head,
    Reservation,
    Settlement,
    Spending,
    SpendingLimit,
    Spent,
    StoragePlace,
)
from artificer.storage.postgres.append_statement import Append
from artificer.storage.postgres.appends import unit_of
from artificer.storage.postgres.committing import UnitOfWork, commit
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.locks import Lock, hold
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.postgres.transaction import PostgresTransaction, PostgresWork
from artificer.storage.postgres.writer import WritingLine
from artificer.testing.records import records_after
from artificer.values.canon import digest_of

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("postgres-batches")]

numbers = count()


@pytest.fixture
def line(postgres_server: PostgresServer) -> Iterator[CutLine]:
    with cutting(postgres_server) as line:
        yield line


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"batches_{next(numbers)}")


async def opened(url: str, folder: Path) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url))
    assert isinstance(storage, PostgresStorage)
    return storage


def appending(run: str, epoch: int = 1, *blobs: bytes) -> UnitOfWork:
    return unit_of(Append(run, epoch, Head(), records_after(Head(), run, 1), blobs))


def unwritable(work: PostgresTransaction) -> None:
    """Fail in the database, after something was written."""
    work.acquire("half", UNCLAIMED)
    work.db.execute("SELECT 1 / 0")


def unwritable_at_once(work: PostgresTransaction) -> None:
    """Fail in the database, with more statements that were sent by then."""
    for number in range(200):
        work.db.execute("SELECT 1 / (3 - %s)", (number,))


def buggy(work: PostgresTransaction) -> float:
    work.acquire("half", UNCLAIMED)
    return 1 / 0


@pytest.mark.parametrize("cut_before", [0, 1])
@pytest.mark.parametrize("bad", [unwritable, unwritable_at_once, buggy])
async def test_a_batch_that_is_split_while_the_connection_is_lost_is_done_once(
    url: str, line: CutLine, tmp_path: Path, bad: PostgresWork, cut_before: int
) -> None:
    storage = await opened(url, tmp_path)
    for run in "abcd":
        await storage.journal.acquire(run)
    await storage.journal.acquire("b")  # its first epoch is fenced from here on
    writing = WritingLine(Database.parse(line.url(url), "power", read_only=False))
    # Alone, `a` is committed. Then the answer to the commit of `c` is lost.
    line.spared_commits, line.cut_before_commits, line.cut_after_commits = 1, cut_before, 1
    units = [appending("a"), appending("c"), UnitOfWork(bad), appending("b"), appending("d")]
    a, c, failed, fenced, d = writing.commit(units)
    assert (line.cut_before_commits, line.cut_after_commits) == (0, 0)
    assert [head.seq for head in (a, c, d)] == [1, 1, 1]
    assert isinstance(failed, Exception) and not isinstance(failed, Fenced)
    assert isinstance(fenced, Fenced)
    heads = {head.run: head.head.seq for head in await storage.journal.runs()}
    assert heads == {"a": 1, "b": 0, "c": 1, "d": 1}
    assert await storage.journal.audit() == []
    writing.close()
    await storage.aclose()


async def test_a_commit_that_nobody_can_ask_about_is_not_said_to_have_failed(
    url: str, line: CutLine, tmp_path: Path
) -> None:
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    database = Database.parse(line.url(url), "power", read_only=False)
    writing = WritingLine(database, patience_s=0)

    def last(work: PostgresTransaction) -> object:
        line.cut_after_commits = 1
        line.close()  # what is open stays open until then
        return appending("a").write(work)

    (outcome,) = writing.commit([UnitOfWork(last)])
    assert isinstance(outcome, OperatorError) and outcome.hint is not None
    assert "It is unknown whether" in outcome.hint
    assert len(await storage.journal.read("a")) == 1
    await storage.aclose()


async def test_what_fails_among_statements_that_are_sent_at_once_is_named(
    url: str, tmp_path: Path
) -> None:
    storage = await opened(url, tmp_path)
    writing = WritingLine(Database.parse(url, "power", read_only=False))
    (outcome,) = writing.commit([UnitOfWork(unwritable_at_once)])
    assert "division by zero" in str(outcome)
    assert writing.commit([UnitOfWork(lambda work: 1)]) == [1]
    writing.close()
    await storage.aclose()


RESERVED = Reservation("acme", 7, Amount(3, 4), SpendingLimit(tokens=9), 0, 1_000)


@pytest.mark.req("postgres-doubt")
@pytest.mark.parametrize(
    "spending",
    [
        NO_SPENDING,
        Spending((), (RESERVED,)),
        Spending((Settlement("acme", 7, Amount(1, 2)), Settlement("day", 0, Amount(1, 2)))),
    ],
    ids=["append", "intent", "reply"],
)
async def test_an_append_waits_for_the_server_once(
    url: str, tmp_path: Path, spending: Spending
) -> None:
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    first = records_after(Head(), "a", 0)
    begun = await storage.journal.append("a", 1, Head(), first)
    database = Database.parse(url, "power", read_only=False)
    records = records_after(begun, "a", *range(5))
    unit = unit_of(Append("a", 1, begun, records, (b"one", b"two", b"one"), spending))
    with database.connect() as db:
        trace = tmp_path / "trace"
        with trace.open("wb") as file:
            db.pgconn.trace(file.fileno())
            commit(db, database.schema, [unit])
            db.pgconn.untrace()
    sent = [line.split("\t")[3] for line in trace.read_text().splitlines() if "\tF\t" in line]
    asked = " ".join(sent).replace("Sync Flush", "Sync").split()  # these two are sent at once
    assert sum(kind in ("Query", "Sync", "Flush") for kind in asked) == 1
    assert await storage.journal.read("a") == [*first, *records]
    assert storage.journal.small.find(digest_of(b"two")) == b"two"
    assert await storage.journal.audit() == []
    await storage.aclose()


async def test_an_append_that_is_fenced_keeps_nothing(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    await storage.journal.acquire("a")
    records = records_after(Head(), "a", 1)
    spending = Spending((Settlement("acme", 0, Amount(1, 2)),))
    with pytest.raises(Fenced):
        await storage.journal.append("a", 1, Head(), records, (b"mine",), spending)
    assert await storage.journal.read("a") == []
    assert await storage.budget.spent("acme", 0) == Spent(Amount(), Amount())
    assert storage.journal.small.find(digest_of(b"mine")) is None
    await storage.aclose()


@pytest.mark.req("postgres-waits")
async def test_runs_that_have_a_blob_in_common_do_not_wait_for_each_other(
    url: str, tmp_path: Path
) -> None:
    storage = await opened(url, tmp_path)
    database = Database.parse(url, "power", read_only=False)
    for run in "abc":
        await storage.journal.acquire(run)
    with database.connect() as first, database.connect() as second:
        commit(first, database.schema, [appending("a", 1, b"in common")])
        second.execute("SET lock_timeout = '10s'")  # until it is an error
        with first.transaction():
            appending("b", 1, b"in common").write(PostgresTransaction(first, database.schema))
            (head,) = commit(second, database.schema, [appending("c", 1, b"in common")])
            assert head.seq == 1
    assert storage.journal.small.find(digest_of(b"in common")) == b"in common"
    assert await storage.journal.audit() == []
    await storage.aclose()


@pytest.mark.req("postgres-waits")
async def test_a_blob_that_was_put_apart_is_a_records_own_from_its_append_on(
    url: str, tmp_path: Path
) -> None:
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    digest = storage.blobs.put(b"apart")
    assert digest not in set(storage.journal.small.digests())
    records = records_after(Head(), "a", 1)
    await storage.journal.append("a", 1, Head(), records, [b"apart"])
    assert digest in set(storage.journal.small.digests())
    await storage.aclose()


@pytest.mark.req("postgres-waits")
async def test_who_waits_to_write_notes_keeps_nobody_waiting(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    database = Database.parse(url, "power", read_only=False)
    records = records_after(Head(), "a", 1)
    with database.connect() as other:
        with other.transaction():
            hold(other, Lock.NOTES, database.schema)
            before = asyncio.create_task(storage.journal.acquire("a"))
            for _ in range(2):
                await asyncio.sleep(0)  # it is being committed: what comes now shares the next one
            appended = storage.journal.append("a", 1, Head(), records)
            both = asyncio.gather(before, appended, storage.signals.post("a", b"{}"))
            await until_one_waits(other)
            other.execute("SELECT FROM runs WHERE run = 'a' FOR UPDATE NOWAIT")
        _, _, number = await both
    assert number == 1 and await storage.journal.read("a") == records
    await storage.aclose()


async def until_one_waits(db: Connection) -> None:
    query = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with asyncio.timeout(30):
        while not db.execute(query).fetchone():  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)

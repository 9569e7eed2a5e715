"""Appends to PostgreSQL whose answer is lost: none is lost, doubled or wrongly reported.

Nothing is asked before the commit of an append. What it did is found afterwards, while the server
may still be at it, or may not yet have read it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cut_line import CutLine, cutting
from postgres_server import PostgresServer

from artificer.core.signals import Cancel
from artificer.errors import Fenced, OperatorError, TamperedError
from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Amount,
    Head,
    Lease,
    Record,
    Settlement,
    Spending,
    StoragePlace,
)
from artificer.storage.postgres.append_statement import Append
from artificer.storage.postgres.appends import QUICK_BYTES, unit_of
from artificer.storage.postgres.committing import QuickStatement, UnitOfWork
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.loop_line import LoopLine, NotDone
from artificer.storage.postgres.roles import created, statements
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.postgres.traces import status
from artificer.storage.postgres.writer import WritingLine
from artificer.testing.records import records_after

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("postgres-doubt")]

numbers = count()
COST = Spending((Settlement("acme", 0, Amount(1, 2)),))


@pytest.fixture(scope="module")
def line(postgres_server: PostgresServer) -> Iterator[CutLine]:
    with cutting(postgres_server) as line:
        yield line


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"doubt_{next(numbers)}")


async def opened(url: str, folder: Path) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url))
    assert isinstance(storage, PostgresStorage)
    return storage


def database(url: str) -> Database:
    return Database.parse(url, "power", read_only=False)


def records(run: str) -> list[Record]:
    return records_after(Head(), run, 1, 2)


def appending(run: str, spending: Spending = NO_SPENDING) -> Append:
    return Append(run, 1, Head(), records(run), (b"small",), spending)


@contextmanager
def in_thread(line: CutLine, url: str, *appends: Append) -> Iterator[list[Any]]:
    """Append through a line, all in one transaction; in the end the outcomes are there."""
    outcomes: list[Any] = []
    writing = WritingLine(database(line.url(url)))
    units = [unit_of(append) for append in appends]
    thread = threading.Thread(target=lambda: outcomes.extend(writing.commit(units)))
    thread.start()
    yield outcomes
    thread.join(60)
    assert not thread.is_alive()
    writing.close()


async def check(storage: PostgresStorage, runs: str, costs: int = 0) -> None:
    """Check that each run has its two records, once, and what they cost was counted once."""
    for run in runs:
        assert await storage.journal.read(run) == records(run)
    spent = await storage.budget.spent("acme", 0)
    assert spent.settled == Amount(costs, 2 * costs)
    assert await storage.journal.audit() == []
    await storage.aclose()


@pytest.mark.parametrize("costs", [0, 1])
@pytest.mark.parametrize("runs", ["a", "abc"])
async def test_an_append_is_done_once_whatever_is_lost_of_it(
    url: str, line: CutLine, tmp_path: Path, runs: str, costs: int
) -> None:
    storage = await opened(url, tmp_path)
    for run in runs:
        await storage.journal.acquire(run)
    # It never arrives; then it is done and nobody hears of it; then that is found out.
    line.cut_before_commits, line.cut_after_commits = 1, 1
    appends = [appending(runs[0], COST if costs else NO_SPENDING), *map(appending, runs[1:])]
    with in_thread(line, url, *appends) as outcomes:
        pass
    assert (line.cut_before_commits, line.cut_after_commits) == (0, 0)
    assert outcomes == [Head(seq=2, hash=records(run)[-1].hash) for run in runs]
    await check(storage, runs, costs)


@pytest.mark.parametrize("is_there", [False, True])
async def test_a_writer_that_lost_its_run_meanwhile_is_told_so(
    url: str, line: CutLine, tmp_path: Path, is_there: bool
) -> None:
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    with staying_cut(line):
        line.cut_before_commits, line.cut_after_commits = (0, 1) if is_there else (1, 0)
        with in_thread(line, url, appending("a", COST)) as outcomes:
            await asyncio.to_thread(line.wait_until_cut)
            lease = await storage.journal.acquire("a")
            line.mend()
    assert isinstance(outcomes[0], Fenced)
    assert lease.head.seq == (2 if is_there else 0)
    if not is_there:
        await storage.journal.append("a", lease.epoch, lease.head, records("a"), (), COST)
    await check(storage, "a", 1)


@contextmanager
def staying_cut(line: CutLine) -> Iterator[None]:
    line.stays_cut = True
    try:
        yield
    finally:
        line.stays_cut = False
        line.mend()


HELD_UP = {
    "before it begins": "LOCK TABLE records IN EXCLUSIVE MODE",
    "while it writes": "INSERT INTO records (run, seq, hash, body) VALUES ('a', 2, '', '')",
}


@pytest.mark.parametrize("costs", [0, 1])
@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("held_up", HELD_UP)
async def test_a_server_that_is_still_at_it_is_waited_for_or_comes_too_late(
    url: str,
    line: CutLine,
    tmp_path: Path,
    held_up: str,
    goes_on: bool,
    costs: int,
) -> None:
    """The line is lost, and its transaction is held up; it goes on later, or is ended."""
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    with database(url).connect() as other, database(url).connect() as looking:
        other.execute("BEGIN")
        other.execute(HELD_UP[held_up].encode())
        with in_thread(line, url, appending("a", COST if costs else NO_SPENDING)) as outcomes:
            (first,) = waiting(looking, 1)
            line.cut()
            line.mend()
            waiting(looking, 2)  # over another connection
            if not goes_on:
                looking.execute("SELECT pg_terminate_backend(%s)", (first,))
            other.execute("ROLLBACK")
    assert outcomes == [Head(seq=2, hash=records("a")[-1].hash)]
    await check(storage, "a", costs)


def waiting(db: Any, wanted: int) -> list[int]:
    """Wait until so many others wait for a lock, and return them, the first one first."""
    query = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' ORDER BY backend_start"
    for _ in range(3_000):
        if len(found := db.execute(query).fetchall()) >= wanted:
            return [pid for (pid,) in found]
        threading.Event().wait(0.02)
    raise AssertionError(f"{found} wait")


async def test_what_the_database_refuses_while_an_append_is_in_doubt_stays_in_doubt(
    url: str, line: CutLine, tmp_path: Path
) -> None:
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    schema = database(url).schema
    with database(url).connect() as owner, staying_cut(line):
        for statement in (created("doubting"), *statements(schema, "doubting", "work")):
            owner.execute(statement)
        line.cut_after_commits = 1
        mine = url.replace("artificer@", "doubting@")
        with in_thread(line, mine, appending("a")) as outcomes:
            await asyncio.to_thread(line.wait_until_cut)
            owner.execute("REVOKE UPDATE ON runs FROM doubting")
            line.mend()
    (outcome,) = outcomes
    assert isinstance(outcome, OperatorError) and outcome.hint is not None
    assert "denies this user" in outcome.message
    assert "It is unknown whether" in outcome.hint
    await check(storage, "a")


async def test_a_number_that_a_crash_has_freed_says_nothing_of_the_transaction_that_had_it(
    url: str, line: CutLine, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """The commit never arrives, and the server forgets which numbers it has given away."""
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    writing, outcomes = WritingLine(database(line.url(url))), list[Any]()
    body = Cancel(reason="Enough.").canonical()
    units = [
        UnitOfWork(lambda work: work.acquire("b", UNCLAIMED)),
        UnitOfWork(lambda work: work.post("a", body, 5), notes=True),
        unit_of(appending("a")),
    ]
    thread = threading.Thread(target=lambda: outcomes.extend(writing.commit(units)))
    with staying_cut(line):
        line.cut_before_commits = 1
        thread.start()
        await asyncio.to_thread(line.wait_until_cut)
        await asyncio.to_thread(postgres_server.stop)
        await asyncio.to_thread(postgres_server.start)
        with database(url).connect() as other:
            assert status(other, "1000000000") == "forgotten"
            for _ in range(20):
                other.execute("SELECT pg_current_xact_id()")
    thread.join(60)
    writing.close()
    assert outcomes == [Lease(epoch=1, head=Head()), 1, Head(seq=2, hash=records("a")[-1].hash)]
    assert await storage.signals.read("a") == [(1, body)]
    assert [head.epoch for head in await storage.journal.runs()] == [1, 1]
    await check(storage, "a")


async def test_an_append_without_records_is_counted_once(
    url: str, line: CutLine, tmp_path: Path
) -> None:
    storage = await opened(url, tmp_path)
    await storage.journal.acquire("a")
    head = await storage.journal.append("a", 1, Head(), records("a"))
    for line.cut_before_commits, line.cut_after_commits in ((1, 0), (0, 1)):
        with in_thread(line, url, Append("a", 1, head, [], (), COST)) as outcomes:
            pass
        assert outcomes == [head]
    await check(storage, "a", 2)


@pytest.mark.parametrize("costs", [NO_SPENDING, COST], ids=["free", "paid"])
def test_an_event_loop_that_ends_among_appends_leaves_a_storage_that_goes_on(
    url: str, tmp_path: Path, costs: Spending
) -> None:
    storage = asyncio.run(opened(url, tmp_path))

    async def begin() -> None:
        lease = await storage.journal.acquire("a")
        head = await storage.journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 0))
        more = records_after(head, "a", 1)
        storage.journal.append("a", 1, head, more, (), costs)  # nobody waits for it
        await asyncio.sleep(0)

    async def go_on() -> None:
        found = await storage.journal.read("a")
        head = Head(seq=len(found), hash=found[-1].hash)
        assert head.seq in (1, 2)
        async with asyncio.timeout(60):
            more = records_after(head, "a", 2)
            assert (await storage.journal.append("a", 1, head, more, (), costs)).seq == head.seq + 1
        assert await storage.journal.audit() == []
        await storage.aclose()

    asyncio.run(begin())
    asyncio.run(go_on())


class TestQuick:
    """Appends that the event loop sends itself: short ones, alone, to a run that has begun."""

    @pytest.fixture
    async def quick(self, url: str, line: CutLine, tmp_path: Path) -> AsyncIterator[Quick]:
        storage = await opened(line.url(url), tmp_path)
        lease = await storage.journal.acquire("a")
        first = records_after(Head(), "a", 0)
        head = await storage.journal.append("a", lease.epoch, Head(), first)
        head = await storage.journal.append("a", 1, head, records_after(head, "a", 1))
        yield Quick(storage, head)
        found = await storage.journal.read("a")
        assert [record.seq for record in found] == [*range(1, len(found) + 1)]
        assert await storage.journal.audit() == []
        await storage.aclose()

    @pytest.mark.parametrize("costs", [NO_SPENDING, COST], ids=["free", "paid"])
    @pytest.mark.parametrize("cuts", [(1, 0), (0, 1)])
    async def test_one_is_done_once_whatever_is_lost_of_it(
        self, quick: Quick, line: CutLine, cuts: tuple[int, int], costs: Spending
    ) -> None:
        line.cut_before_commits, line.cut_after_commits = cuts
        with only_appends(line):
            assert (await quick.append(costs)).seq == 3
        assert (line.cut_before_commits, line.cut_after_commits) == (0, 0)
        assert (await quick.append(costs)).seq == 4
        spent = (await quick.storage.budget.spent("acme", 0)).settled
        assert spent == (Amount(2, 4) if costs is COST else Amount())

    @pytest.mark.parametrize("costs", [NO_SPENDING, COST], ids=["free", "paid"])
    async def test_one_that_the_fence_rejects_is_told_so(
        self, quick: Quick, costs: Spending
    ) -> None:
        await quick.storage.journal.acquire("a")
        with pytest.raises(Fenced, match="its epoch is 2, not 1"):
            await quick.append(costs)
        assert len(await quick.storage.journal.read("a")) == 2
        assert (await quick.storage.budget.spent("acme", 0)).settled == Amount()

    @pytest.mark.parametrize("is_there", [False, True])
    async def test_one_whose_run_was_taken_meanwhile_is_told_so(
        self, url: str, tmp_path: Path, quick: Quick, line: CutLine, is_there: bool
    ) -> None:
        other = await opened(url, tmp_path)
        with staying_cut(line), only_appends(line):
            line.cut_before_commits, line.cut_after_commits = (0, 1) if is_there else (1, 0)
            appending = asyncio.create_task(quick.append())
            await asyncio.to_thread(line.wait_until_cut)
            lease = await other.journal.acquire("a")
            line.mend()
            with pytest.raises(Fenced):
                await appending
        assert lease.head.seq == (3 if is_there else 2)
        await other.aclose()

    async def test_a_line_that_was_lost_while_nothing_was_sent_is_made_again(
        self, quick: Quick, line: CutLine
    ) -> None:
        line.cut()
        line.mend()
        assert (await quick.append()).seq == 3
        assert (await quick.append()).seq == 4

    def test_what_takes_long_is_unusual_or_announces_a_run_is_left_to_a_thread(self) -> None:
        begun = Head(seq=1, hash="sha256:0")
        for head, blob, is_quick in ((begun, b"", True), (Head(), b"", False)):
            append = Append("a", 1, head, records_after(head, "a", 1), (blob,), NO_SPENDING)
            assert (unit_of(append).quick is not None) is is_quick
        twice = Spending(COST.settlements * 2)
        for blob, costs in ((b"x" * QUICK_BYTES, COST), (b"", twice)):
            append = Append("a", 1, begun, records_after(begun, "a", 1), (blob,), costs)
            assert unit_of(append).quick is None


@contextmanager
def only_appends(line: CutLine) -> Iterator[None]:
    """Cut nothing else: the world's chain is moved on meanwhile."""
    line.only_appends = True
    try:
        yield
    finally:
        line.only_appends = False


class Quick:
    """A run of a world that is reached through a line, which appends."""

    def __init__(self, storage: PostgresStorage, head: Head) -> None:
        self.storage, self._head = storage, head

    async def append(self, costs: Spending = NO_SPENDING) -> Head:
        """Append a record."""
        more = records_after(self._head, "a", 2)
        self._head = await self.storage.journal.append("a", 1, self._head, more, (), costs)
        return self._head


async def test_a_server_that_is_killed_among_many_appends_loses_and_doubles_none(
    url: str, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    storage = await opened(url, tmp_path)
    begun = asyncio.Event()

    async def write(run: str) -> list[Record]:
        lease, head = await storage.journal.acquire(run), Head()
        for n in range(60):
            more = records_after(head, run, n)
            spending = COST if n % 3 == 0 else NO_SPENDING
            head = await storage.journal.append(run, lease.epoch, head, more, (), spending)
            if n == 5:
                begun.set()
        return await storage.journal.read(run)

    writing = asyncio.gather(*map(write, "abcd"))
    await begun.wait()
    await asyncio.to_thread(postgres_server.stop)
    await asyncio.to_thread(postgres_server.start)
    assert [len(found) for found in await writing] == [60] * 4
    assert (await storage.budget.spent("acme", 0)).settled == Amount(80, 160)
    assert await storage.journal.audit() == []
    await storage.aclose()


class TestPrepared:
    """psycopg prepares a statement when it is executed for the sixth time, and may be mistaken."""

    QUERY = b"SELECT 40 + n FROM spare"

    @pytest.fixture
    async def line(self, url: str, tmp_path: Path) -> AsyncIterator[WritingLine]:
        storage = await opened(url, tmp_path)
        line = WritingLine(database(url))
        self.execute(line, b"CREATE TABLE spare AS SELECT 2 AS n")
        yield line
        line.close()
        await storage.aclose()

    def execute(self, line: WritingLine, query: bytes) -> Any:
        (cursor,) = line.commit([UnitOfWork(lambda t: t.db.execute(query), is_statement=True)])
        return cursor

    async def test_one_that_was_skipped_behind_a_failure_works_again(
        self, line: WritingLine
    ) -> None:
        failing = UnitOfWork(lambda t: t.db.execute("SELECT 1 / 0"))
        unit = UnitOfWork(lambda t: t.db.execute(self.QUERY).fetchone())
        for _ in range(2):
            assert isinstance(line.commit([failing])[0], TamperedError)
        for _ in range(5):
            assert line.commit([unit]) == [(42,)]
        silent = UnitOfWork(lambda t: t.db.execute(self.QUERY))
        assert len(line.commit([failing, silent])) == 2
        assert line.commit([unit]) == [(42,)]

    async def test_on_the_loops_own_line_another_connection_is_made(
        self, line: WritingLine, url: str
    ) -> None:
        unit = UnitOfWork(
            lambda t: None, quick=lambda: QuickStatement(self.QUERY, {}, "done", True)
        )
        quick = LoopLine(database(url))
        for _ in range(5):
            assert await quick.commit(unit) == "done"
        self.execute(line, b"ALTER TABLE spare RENAME TO away")
        with pytest.raises(NotDone):
            await quick.commit(unit)
        self.execute(line, b"ALTER TABLE away RENAME TO spare")
        with pytest.raises(NotDone):
            await quick.commit(unit)
        assert await quick.commit(unit) == "done"
        await quick.aclose()

"""Appends to PostgreSQL whose answer is lost: none is lost, doubled or wrongly reported.

Nothing is asked before the commit of an append. What it did is found afterwards, while the server
may still be at it, or may not yet have read it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cut_line import CutLine, cutting
from postgres_server import PostgresServer

from artificer.errors import Fenced, OperatorError
from artificer.ports import NO_SPENDING, Amount, Head, Record, Settlement, Spending, StoragePlace
from artificer.storage.postgres.appends import Append
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.roles import created, statements
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.postgres.writer import WritingLine
from artificer.testing.journal_suite import records_after

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
    units = [append.unit() for append in appends]
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
    assert "does not let this user" in outcome.message
    assert "Nobody knows yet" in outcome.hint
    await check(storage, "a")


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

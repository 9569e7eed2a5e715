"""Appends to PostgreSQL that cost something: the server does what a budget in Python does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import structs
from postgres_server import PostgresServer

from artificer.errors import BudgetError, Fenced, TamperedError
from artificer.ports import (
    Amount,
    Correction,
    Head,
    Journal,
    Reservation,
    Settlement,
    Spending,
    SpendingLimit,
    StoragePlace,
)
from artificer.storage.memory import MemoryJournal
from artificer.storage.postgres.append_statement import Append
from artificer.storage.postgres.appends import unit_of
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.loop_line import LoopLine
from artificer.storage.postgres.storage import PostgresStorage
from artificer.testing.records import records_after

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("postgres-costs")]

numbers = count()
ACCOUNTS = ["2026-11-23", 'a "day"\\ of\nZoë\0', "run:42"]
LIMIT = SpendingLimit(tokens=70)


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"costs_{next(numbers)}")


async def opened(url: str, folder: Path) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url))
    assert isinstance(storage, PostgresStorage)
    return storage


class Run:
    """A run, which appends a record at a time."""

    def __init__(self, journal: Journal, run: str = "a") -> None:
        self._journal, self._run = journal, run
        self._epoch, self.head = 0, Head()

    async def begin(self) -> Run:
        """Acquire it, and append its first record."""
        self._epoch = (await self._journal.acquire(self._run)).epoch
        await self.append(Spending())
        return self

    async def append(self, spending: Spending) -> str:
        """Append a record that costs something, and return what became of it."""
        records = records_after(self.head, self._run, 1)
        appended = self._journal.append(
            self._run, self._epoch, self.head, records, (b"small",), spending
        )
        try:
            self.head = await appended
        except (BudgetError, TamperedError) as error:
            return error.message
        return "appended"


def reserving(number: int, need: int = 10, limit: SpendingLimit = LIMIT, at: int = 0) -> Spending:
    wanted = Reservation(ACCOUNTS[0], number, Amount(need, 2 * need), limit, at, at + 1_000)
    return Spending((), (wanted,))


def settling(number: int, cost: int = 3) -> Spending:
    return Spending((Settlement(ACCOUNTS[0], number, Amount(cost, 2 * cost)),))


AMOUNTS = st.builds(Amount, st.integers(0, 9), st.integers(0, 9)) | st.just(Amount(2**70, 2**53))
LIMITS = st.builds(SpendingLimit, st.none() | st.integers(0, 40), st.none() | st.just(30))
SETTLEMENTS = st.builds(Settlement, st.sampled_from(ACCOUNTS), st.integers(0, 5), AMOUNTS)
Wanted = tuple[str, Amount, SpendingLimit, int]
Step = tuple[list[Settlement], list[Wanted], int]
"""Settlements, the reservations that are wanted and for how long, and the time until the next."""

WANTED = st.tuples(st.sampled_from(ACCOUNTS), AMOUNTS, LIMITS, st.integers(0, 4))
STEPS = st.lists(
    st.tuples(st.lists(SETTLEMENTS, max_size=3), st.lists(WANTED, max_size=3), st.integers(0, 3)),
    min_size=4,
    max_size=12,
)


class Both:
    """Two journals, in memory and in PostgreSQL, to which the same is appended."""

    def __init__(self, url: str, folder: Path) -> None:
        self.runner = asyncio.Runner()
        self.memory = MemoryJournal()
        self.storage = self.runner.run(opened(url, folder))

    async def compare(self, steps: list[Step]) -> None:
        """Take steps in a new run, with accounts of its own."""
        mine = f"{next(numbers)} "
        journals = (self.memory, self.storage.journal)
        runs = [await Run(journal, mine).begin() for journal in journals]
        now, number = 1, 5
        for settlements, wanted, pause in steps:
            settled = [structs.replace(one, account=mine + one.account) for one in settlements]
            reserved = []
            for account, need, limit, lasts in wanted:
                number += 1
                until = now + lasts
                reserved.append(Reservation(mine + account, number, need, limit, now, until))
            one, other = [await run.append(Spending(settled, reserved)) for run in runs]
            assert one == other
            now += pause
            for account in ACCOUNTS:
                spent = await self.memory.budget.spent(mine + account, now)
                assert await self.storage.budget.spent(mine + account, now) == spent

    def close(self) -> None:
        """Check that what both hold follows from their notes."""
        for journal in (self.memory, self.storage.journal):
            assert self.runner.run(journal.audit()) == []
        self.runner.run(self.storage.aclose())
        self.runner.close()


@pytest.fixture(scope="module")
def both(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    both = Both(postgres_server.url(f"costs_{next(numbers)}"), tmp_path_factory.mktemp("both"))
    yield both
    both.close()


DAY = ACCOUNTS[1]


@given(STEPS)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@example([([], [(DAY, Amount(5, 5), LIMIT, 2)], 3), ([], [], 0)] * 3)
@example(  # what is settled has expired by then
    [
        ([], [(DAY, Amount(5, 5), LIMIT, 1)], 2),
        ([Settlement(DAY, 6, Amount(1, 1))], [(DAY, Amount(5, 5), LIMIT, 1)], 0),
    ]
)
def test_the_server_comes_to_the_same_as_a_budget_in_memory(both: Both, steps: list[Step]) -> None:
    """Whatever is settled and reserved in one append, twice, late or never."""
    both.runner.run(both.compare(steps))


async def test_an_append_that_costs_something_is_sent_by_the_event_loop(
    url: str, tmp_path: Path
) -> None:
    """Nothing in it is left to the thread, and nothing was asked before."""
    storage = await opened(url, tmp_path)
    lease = await storage.journal.acquire("a")
    head = await storage.journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
    line = LoopLine(Database.parse(url, "power", read_only=False))
    other = Settlement(ACCOUNTS[1], 0, Amount(1, 1))
    for spending in (
        reserving(1),
        settling(1),
        Spending((*settling(0).settlements, other), reserving(2).reservations),
        Spending(settling(2).settlements, reserving(3).reservations),
    ):
        records = records_after(head, "a", 2)
        head = await line.commit(unit_of(Append("a", 1, head, records, (b"small",), spending)))
    assert (await storage.journal.acquire("a")).head == head
    await line.aclose()
    spent = await storage.budget.spent(ACCOUNTS[0], 0)
    assert (spent.settled, spent.reserved) == (Amount(9, 18), Amount(10, 20))
    assert await storage.journal.audit() == []
    await storage.aclose()


async def test_of_many_intents_at_once_only_as_many_as_fit_are_appended(
    url: str, tmp_path: Path
) -> None:
    """In several processes: each storage has a connection of its own."""
    storages = [await opened(url, tmp_path / str(n)) for n in range(3)]
    runs = [await Run(storages[n % 3].journal, f"run-{n}").begin() for n in range(12)]

    async def spend(n: int, run: Run) -> int:
        """Reserve and settle by turns until there is no more; return how much was settled."""
        for turn in range(20):
            if await run.append(reserving(1 + 100 * n + turn)) != "appended":
                return 3 * turn
            assert await run.append(settling(1 + 100 * n + turn)) == "appended"
        raise AssertionError("A limit did not hold.")

    settled = sum(await asyncio.gather(*(spend(n, run) for n, run in enumerate(runs))))
    spent = await storages[0].budget.spent(ACCOUNTS[0], 0)
    assert spent.settled == Amount(settled, 2 * settled)
    assert spent.reserved == Amount() and 60 < settled <= 70
    assert await storages[0].journal.audit() == []
    for storage in storages:
        await storage.aclose()


async def test_who_is_refused_a_reservation_has_written_nothing(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    run = await Run(storage.journal).begin()
    assert await run.append(reserving(1, need=60)) == "appended"
    before = run.head
    both = Spending(settling(0, 20).settlements, reserving(2).reservations)
    assert "does not have this reservation" in await run.append(both)
    assert run.head == before
    assert (await storage.budget.spent(ACCOUNTS[0], 0)).settled == Amount()
    await storage.journal.acquire("a")
    with pytest.raises(Fenced):
        await run.append(settling(1))
    assert (await storage.budget.spent(ACCOUNTS[0], 0)).reserved == Amount(60, 120)
    assert await storage.journal.audit() == []
    await storage.aclose()


async def test_a_total_that_a_person_put_right_is_counted_on(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    run = await Run(storage.journal).begin()
    assert await run.append(settling(0, 60)) == "appended"
    correction = Correction(tokens=5, micros=7, by="anna", reason="A wrong report.", at=5)
    assert await storage.budget.correct(ACCOUNTS[0], correction) == Amount(5, 7)
    assert await run.append(reserving(1)) == "appended"
    assert await run.append(settling(1)) == "appended"
    assert (await storage.budget.spent(ACCOUNTS[0], 0)).settled == Amount(8, 13)
    assert await storage.journal.audit() == []
    await storage.aclose()


CHANGED = {
    "a total": "UPDATE spending SET tokens = 0",
    "no total": "DELETE FROM spending",
    "a note": r"UPDATE notes SET body = replace(body::text, '7465', '7475')::bytea",
    "an older note": "DELETE FROM notes WHERE entry = (SELECT max(entry) FROM notes)",
    "no note": "DELETE FROM notes",
}


@pytest.mark.parametrize("changed", CHANGED)
async def test_nothing_is_spent_from_an_account_that_was_changed(
    url: str, tmp_path: Path, changed: str
) -> None:
    storage = await opened(url, tmp_path)
    run = await Run(storage.journal).begin()
    for _ in range(2):
        assert await run.append(settling(0)) == "appended"
    with Database.parse(url, "power", read_only=False).connect() as other:
        other.execute(CHANGED[changed].encode())
    head = run.head
    for spending in (settling(0), reserving(1)):
        assert "differ" in (said := await run.append(spending)) or "does not match" in said
    assert run.head == head
    await storage.aclose()


async def test_of_appends_that_share_a_commit_a_refused_one_keeps_its_outcome_to_itself(
    url: str, tmp_path: Path
) -> None:
    storage = await opened(url, tmp_path)
    runs = [await Run(storage.journal, f"run-{n}").begin() for n in range(4)]
    wanted = (reserving(1), reserving(2, need=61), Spending(), settling(0, 1))
    outcomes = await asyncio.gather(*(r.append(s) for r, s in zip(runs, wanted, strict=True)))
    assert outcomes[0] == outcomes[2] == outcomes[3] == "appended"
    assert "does not have" in outcomes[1]
    spent = await storage.budget.spent(ACCOUNTS[0], 0)
    assert (spent.settled, spent.reserved) == (Amount(1, 2), Amount(10, 20))
    assert await storage.journal.audit() == []
    await storage.aclose()


async def test_what_has_expired_is_found_without_reading_all_accounts(
    url: str, tmp_path: Path
) -> None:
    """A tree of runs has an account of its own, and each reservation looks, under a lock."""
    storage = await opened(url, tmp_path)
    with Database.parse(url, "power", read_only=False).connect() as other:
        other.execute(
            "INSERT INTO spending SELECT 'run:' || n, 0, 1, 1 FROM generate_series(1, 5000) AS n"
        )
        other.execute("ANALYZE spending")
        plan = other.execute("EXPLAIN DELETE FROM spending WHERE until <= 5").fetchall()
    assert any("spending_until" in line for (line,) in plan), plan
    await storage.aclose()

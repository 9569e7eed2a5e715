"""Both budgets behave as the port says, and processes spend from one together."""

from __future__ import annotations

import asyncio
import sqlite3
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import preloaded
from artificer.errors import TamperedError
from artificer.ports import Amount, Budget, Settlement, Spending, SpendingLimit
from artificer.storage.memory import MemoryBudget, MemoryJournal
from artificer.storage.sqlite import SqliteBudget, SqliteJournal
from artificer.storage.sqlite.anchor import Anchor
from artificer.storage.sqlite.budget import spend
from artificer.storage.sqlite.database import connect
from artificer.storage.sqlite.transaction import Transaction
from artificer.storage.sqlite.writer import Writer
from artificer.testing.budget_suite import BudgetSuite, reserve, settle

pytestmark = pytest.mark.req("budget-port")

SPENDER = Path(__file__).parent / "spender.py"
ONE = Settlement("day", 0, Amount(1, 1))


class TestMemoryBudget(BudgetSuite):
    @pytest.fixture
    async def budget(self) -> AsyncIterator[MemoryBudget]:
        journal = MemoryJournal()
        yield journal.budget
        assert await journal.audit() == []


class TestSqliteBudget(BudgetSuite):
    @pytest.fixture
    async def budget(self, tmp_path: Path) -> AsyncIterator[SqliteBudget]:
        async with SqliteJournal(tmp_path / "journal.db", "process") as journal:
            yield journal.budget
            assert await journal.audit() == []


async def test_several_processes_never_spend_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with SqliteJournal(path, "process"):
        pass
    command = [str(SPENDER), str(path), "25", "400"]
    spenders = [await preloaded.start(*command, stdout=PIPE) for _ in range(3)]
    granted = [int((await spender.communicate())[0]) for spender in spenders]
    assert sum(granted) == 40
    async with SqliteJournal(path, "process") as journal:
        spent = await journal.budget.spent("day", 0)
    assert spent.settled.tokens + spent.reserved.tokens == 400


async def test_what_was_spent_is_there_after_the_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    command = [str(SPENDER), str(path), "4", "100"]
    spender = await preloaded.start(*command, stdout=PIPE)
    assert (await spender.communicate())[0] == b"4\n"
    async with SqliteJournal(path, "process") as journal:
        spent = await journal.budget.spent("day", 0)
    assert (spent.settled.tokens, spent.reserved.tokens) == (20, 20)


@pytest.mark.req("totals-known")
async def test_two_journals_of_one_file_spend_from_the_same_account(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with SqliteJournal(path, "process") as one, SqliteJournal(path, "process") as other:
        for journal in (one, other, one, one, other):
            await journal.budget.settle([Settlement("day", 0, Amount(3, 1))])
        assert (await other.budget.spent("day", 0)).settled == Amount(15, 5)
        assert await one.audit() == []


@pytest.mark.req("totals-known")
async def test_a_commit_that_fails_spends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    def fails(transaction: Transaction) -> None:
        spend(transaction, Spending([Settlement("day", 0, Amount(100, 100))]))
        raise sqlite3.OperationalError("the disk is gone")

    db = connect(path, "process", 1.0)
    writer = Writer(db, path, 1.0, Anchor(path, synced=False))
    try:
        await writer.perform(lambda work: spend(work, Spending([ONE])), at_once=True)
        with pytest.raises(TamperedError):  # of an error that is not the disk's
            await writer.perform(fails, at_once=True)
        await writer.perform(lambda work: spend(work, Spending([ONE])), at_once=True)
    finally:
        await writer.aclose()
    async with SqliteJournal(path, "process") as journal:
        assert (await journal.budget.spent("day", 0)).settled == Amount(2, 2)
        assert await journal.audit() == []


AMOUNTS = st.builds(Amount, st.integers(0, 9), st.integers(0, 9))
MOSTS = st.builds(SpendingLimit, st.none() | st.integers(1, 30), st.none() | st.integers(1, 30))
DAYS = st.sampled_from(["monday", "tuesday"])
STEPS = st.one_of(
    st.tuples(st.just("reserve"), DAYS, AMOUNTS, MOSTS),
    st.tuples(st.just("settle"), st.integers(0, 5), AMOUNTS),
    st.tuples(st.just("wait"), st.integers(1, 7)),
)


@given(st.lists(STEPS, max_size=25))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_budgets_come_to_the_same(steps: list[tuple[object, ...]]) -> None:
    """Whatever is reserved, settled late, twice or never: and no day costs more than was allowed
    but for what was settled above its reservation."""

    async def go() -> None:
        with TemporaryDirectory() as folder:
            async with SqliteJournal(Path(folder) / "journal.db", "process") as journal:
                memory = MemoryJournal()
                await compare(memory.budget, journal.budget, steps)
                assert await memory.audit() == await journal.audit() == []

    asyncio.run(go())


async def compare(one: Budget, other: Budget, steps: list[tuple[object, ...]]) -> None:
    now = 0
    given: list[tuple[str, int, int]] = []
    for step in steps:
        match step:
            case ("reserve", str(day), Amount() as need, SpendingLimit() as most):
                before = await one.spent(day, now)
                numbers = [
                    await reserve(budget, most, need=need, account=day, now=now, lasts=5)
                    for budget in (one, other)
                ]
                fits = most.holds(before.settled + before.reserved + need)
                assert [number is not None for number in numbers] == [fits, fits]
                if numbers[0] is not None and numbers[1] is not None:
                    given.append((day, numbers[0], numbers[1]))
            case ("settle", int(which), Amount() as true) if which < len(given):
                day, first, second = given[which]
                await settle(one, day, first, true)
                await settle(other, day, second, true)
            case ("wait", int(time)):
                now += time
        for day in ("monday", "tuesday"):
            assert await one.spent(day, now) == await other.spent(day, now)

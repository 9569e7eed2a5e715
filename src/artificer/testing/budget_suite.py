"""Conformance tests for budgets, to run with your own.

Subclass `BudgetSuite` in a test module and give it a pytest fixture ``budget`` that yields a fresh
one. The tests are coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio
import secrets

from artificer.errors import BudgetError
from artificer.ports import (
    Amount,
    Budget,
    Correction,
    Reservation,
    Settlement,
    SpendingLimit,
    Spent,
)

DAY, NEXT_DAY = "2026-11-22", "2026-11-23"
TEN = Amount(10, 100)


async def reserve(
    budget: Budget,
    limit: SpendingLimit,
    *,
    need: Amount = TEN,
    account: str = DAY,
    now: int = 0,
    lasts: int = 1000,
) -> int | None:
    """Reserve an amount; return the reservation's number, or None if it was refused."""
    wanted = Reservation(account, secrets.randbits(60) + 1, need, limit, now, now + lasts)
    try:
        await budget.reserve([wanted])
    except BudgetError:
        return None
    return wanted.number


async def settle(budget: Budget, account: str, number: int | None, cost: Amount) -> None:
    """Settle one reservation."""
    assert number is not None
    await budget.settle([Settlement(account, number, cost)])


class BudgetSuite:
    """The behavior of the `Budget` port. Subclass it and give it a fixture ``budget``."""

    async def test_what_is_reserved_is_held_until_it_is_settled(self, budget: Budget) -> None:
        """A reservation is held until the actual cost replaces it."""
        number = await reserve(budget, SpendingLimit())
        assert await budget.spent(DAY, 0) == Spent(Amount(), TEN)
        await settle(budget, DAY, number, Amount(3, 40))
        assert await budget.spent(DAY, 0) == Spent(Amount(3, 40), Amount())

    async def test_more_than_the_limit_is_not_reserved(self, budget: Budget) -> None:
        """A reservation above the limit is refused and changes nothing: tokens and money."""
        for limit in (SpendingLimit(tokens=19), SpendingLimit(micros=199)):
            account = f"{DAY}-{limit.tokens}"
            assert await reserve(budget, limit, account=account) is not None
            assert await reserve(budget, limit, account=account) is None
            assert (await budget.spent(account, 0)).reserved == TEN

    async def test_exactly_the_limit_is_reserved(self, budget: Budget) -> None:
        """A reservation of exactly the remaining amount is accepted."""
        limit = SpendingLimit(tokens=20, micros=200)
        assert await reserve(budget, limit) is not None
        assert await reserve(budget, limit) is not None
        assert await reserve(budget, limit, need=Amount(1, 0)) is None

    async def test_of_several_all_are_reserved_or_none(self, budget: Budget) -> None:
        """Reservations of a day and a build are made together; those on one account add up."""
        wide, narrow = SpendingLimit(tokens=100), SpendingLimit(tokens=9)
        day = Reservation(DAY, 1, TEN, wide, 0, 1000)
        build = Reservation("build:b", 2, TEN, narrow, 0, 1000)
        twice = [Reservation("build:c", n, Amount(5, 0), narrow, 0, 1000) for n in (3, 4)]
        for refused in ([day, build], [day, *twice]):
            try:
                await budget.reserve(refused)
            except BudgetError:
                assert (await budget.spent(DAY, 0)).reserved == Amount()
            else:
                raise AssertionError("More than the limit was reserved.")
        await budget.reserve([day, twice[0]])
        assert (await budget.spent(DAY, 0)).reserved == TEN
        assert (await budget.spent("build:c", 0)).reserved == Amount(5, 0)

    async def test_what_was_settled_counts(self, budget: Budget) -> None:
        """A settlement counts even if it exceeds the reservation or the limit."""
        number = await reserve(budget, SpendingLimit(tokens=15))
        await settle(budget, DAY, number, Amount(50, 0))
        assert await reserve(budget, SpendingLimit(tokens=15)) is None
        assert (await budget.spent(DAY, 0)).settled == Amount(50, 0)

    async def test_what_reserved_nothing_is_counted_too(self, budget: Budget) -> None:
        """Without a limit nothing is reserved, and the settlement has the number 0."""
        number = await reserve(budget, SpendingLimit())
        await settle(budget, DAY, 0, Amount(3, 4))
        await settle(budget, DAY, 0, Amount(3, 4))
        assert await budget.spent(DAY, 0) == Spent(Amount(6, 8), TEN)
        await settle(budget, DAY, number, Amount(1, 1))
        assert await budget.spent(DAY, 0) == Spent(Amount(7, 9), Amount())

    async def test_each_account_has_its_own(self, budget: Budget) -> None:
        """Accounts are separate: a new day begins with nothing spent."""
        limit = SpendingLimit(tokens=10)
        assert await reserve(budget, limit) is not None
        assert await reserve(budget, limit) is None
        assert await reserve(budget, limit, account=NEXT_DAY) is not None

    async def test_a_reservation_expires(self, budget: Budget) -> None:
        """The reservation of a dead process expires; settling it later still counts its cost."""
        limit = SpendingLimit(tokens=10)
        number = await reserve(budget, limit)
        assert await reserve(budget, limit, now=999) is None
        assert await budget.spent(DAY, 1000) == Spent(Amount(), Amount())
        assert await reserve(budget, limit, now=1000) is not None
        await settle(budget, DAY, number, Amount(4, 0))
        assert await budget.spent(DAY, 1000) == Spent(Amount(4, 0), TEN)

    async def test_of_many_at_once_only_as_many_as_fit(self, budget: Budget) -> None:
        """Of many reservations at once, only as many as fit are accepted: the check is atomic."""
        tries = [reserve(budget, SpendingLimit(tokens=70)) for _ in range(20)]
        granted = [number for number in await asyncio.gather(*tries) if number is not None]
        assert len(granted) == len(set(granted)) == 7

    async def test_any_settlement_can_be_added_up(self, budget: Budget) -> None:
        """A provider may report any count; the sum of two such days is still a number."""
        for _ in range(3):
            number = await reserve(budget, SpendingLimit())
            await settle(budget, DAY, number, Amount(2**80, 2**80))
        assert (await budget.spent(DAY, 0)).settled.tokens >= 2**53 - 1
        assert await reserve(budget, SpendingLimit(tokens=10**12)) is None

    async def test_a_person_can_put_an_account_right(self, budget: Budget) -> None:
        """Other totals and reservations stay, and the next request adds to the new total."""
        number = await reserve(budget, SpendingLimit())
        await settle(budget, DAY, number, Amount(10**12, 30))
        assert await reserve(budget, SpendingLimit(tokens=100)) is None
        correction = Correction(tokens=20, micros=None, by="anna", reason="A wrong report.", at=5)
        assert await budget.correct(DAY, correction) == Amount(20, 30)
        number = await reserve(budget, SpendingLimit(tokens=100))
        assert await budget.spent(DAY, 0) == Spent(Amount(20, 30), TEN)
        await settle(budget, DAY, number, Amount(1, 2))
        assert (await budget.spent(DAY, 0)).settled == Amount(21, 32)
        empty = Correction(tokens=7, micros=8, by="anna", reason="Paid elsewhere.", at=5)
        assert await budget.correct(NEXT_DAY, empty) == Amount(7, 8)

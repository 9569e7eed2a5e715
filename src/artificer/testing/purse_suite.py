"""What every purse must do, as tests: a purse of your own passes them too.

Subclass `PurseSuite` in a test module and give it a pytest fixture ``purse`` that yields a fresh
one. The tests are coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio

from artificer.ports import Allowed, Amount, Correction, Purse, Spent

DAY, NEXT_DAY = "2026-11-22", "2026-11-23"
TEN = Amount(10, 100)


async def _reserve(
    purse: Purse, most: Allowed, *, need: Amount = TEN, day: str = DAY, now: int = 0
) -> int | None:
    return await purse.reserve(day, need, most, now=now, until=now + 1000)


class PurseSuite:
    """The behaviour of the `Purse` port. Subclass it and give it a fixture ``purse``."""

    async def test_what_is_reserved_is_held_until_it_is_settled(self, purse: Purse) -> None:
        """The true cost then takes its place."""
        number = await _reserve(purse, Allowed())
        assert number is not None
        assert await purse.spent(DAY, 0) == Spent(Amount(), TEN)
        await purse.settle(DAY, number, Amount(3, 40))
        assert await purse.spent(DAY, 0) == Spent(Amount(3, 40), Amount())

    async def test_more_than_is_allowed_is_not_reserved(self, purse: Purse) -> None:
        """Of tokens as of money; nothing has changed then."""
        for most in (Allowed(tokens=19), Allowed(micros=199)):
            day = f"{DAY}-{most.tokens}"
            assert await _reserve(purse, most, day=day) is not None
            assert await _reserve(purse, most, day=day) is None
            assert (await purse.spent(day, 0)).reserved == TEN

    async def test_exactly_what_is_allowed_is_reserved(self, purse: Purse) -> None:
        """To the last token."""
        most = Allowed(tokens=20, micros=200)
        assert await _reserve(purse, most) is not None
        assert await _reserve(purse, most) is not None
        assert await _reserve(purse, most, need=Amount(1, 0)) is None

    async def test_what_was_settled_counts(self, purse: Purse) -> None:
        """Even more than was reserved, and more than is allowed."""
        number = await _reserve(purse, Allowed(tokens=15))
        assert number is not None
        await purse.settle(DAY, number, Amount(50, 0))
        assert await _reserve(purse, Allowed(tokens=15)) is None
        assert (await purse.spent(DAY, 0)).settled == Amount(50, 0)

    async def test_each_day_has_its_own(self, purse: Purse) -> None:
        """A new day begins with nothing spent."""
        most = Allowed(tokens=10)
        assert await _reserve(purse, most) is not None
        assert await _reserve(purse, most) is None
        assert await _reserve(purse, most, day=NEXT_DAY) is not None

    async def test_who_dies_keeps_nothing_for_long(self, purse: Purse) -> None:
        """A reservation expires; settling it afterwards still counts what it has cost."""
        number = await _reserve(purse, Allowed(tokens=10))
        assert number is not None
        assert await _reserve(purse, Allowed(tokens=10), now=999) is None
        assert await purse.spent(DAY, 1000) == Spent(Amount(), Amount())
        assert await _reserve(purse, Allowed(tokens=10), now=1000) is not None
        await purse.settle(DAY, number, Amount(4, 0))
        assert await purse.spent(DAY, 1000) == Spent(Amount(4, 0), TEN)

    async def test_of_many_at_once_only_as_many_as_fit(self, purse: Purse) -> None:
        """Comparing and adding are one step."""
        tries = [_reserve(purse, Allowed(tokens=70)) for _ in range(20)]
        granted = [number for number in await asyncio.gather(*tries) if number is not None]
        assert len(granted) == len(set(granted)) == 7

    async def test_whatever_is_settled_can_be_added_up(self, purse: Purse) -> None:
        """A provider's counts are what it says they are; two days of them are still a number."""
        for _ in range(3):
            number = await _reserve(purse, Allowed())
            assert number is not None
            await purse.settle(DAY, number, Amount(2**80, 2**80))
        assert (await purse.spent(DAY, 0)).settled.tokens >= 2**53 - 1
        assert await _reserve(purse, Allowed(tokens=10**12)) is None

    async def test_a_person_can_put_a_day_right(self, purse: Purse) -> None:
        """Totals that they do not name stay, and so do reservations; the next request counts on."""
        number = await _reserve(purse, Allowed())
        assert number is not None
        await purse.settle(DAY, number, Amount(10**12, 30))
        assert await _reserve(purse, Allowed(tokens=100)) is None
        correction = Correction(tokens=20, micros=None, by="anna", reason="A wrong report.", at=5)
        assert await purse.correct(DAY, correction) == Amount(20, 30)
        number = await _reserve(purse, Allowed(tokens=100))
        assert number is not None
        assert await purse.spent(DAY, 0) == Spent(Amount(20, 30), TEN)
        await purse.settle(DAY, number, Amount(1, 2))
        assert (await purse.spent(DAY, 0)).settled == Amount(21, 32)
        empty = Correction(tokens=7, micros=8, by="anna", reason="Paid elsewhere.", at=5)
        assert await purse.correct(NEXT_DAY, empty) == Amount(7, 8)

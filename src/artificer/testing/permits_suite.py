"""Conformance tests for shared limits, to run with your own permits.

Subclass `PermitsSuite` in a test module and give it a pytest fixture ``permits``. The tests are
coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio

from artificer.ports import LimitReached, Permit, Permits, SharedLimit

LONG_S = 3600.0
"""The duration of a lease that outlasts every test."""

SHORT_S = 0.05
"""The duration of a lease or period whose end a test waits for."""

WITHIN_S = 120
"""Seconds after which a test gives up. No test waits for this time to pass."""

TWO = SharedLimit("lanes.slow", 2)


async def take_at_last(permits: Permits, permit: str, limit: SharedLimit) -> None:
    """Take a permit as soon as one is available."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            if await permits.take(permit, [limit], LONG_S) is None:
                return
            await asyncio.sleep(0.01)


class PermitsSuite:
    """The behavior of the `Permits` port. Subclass it and give it a fixture ``permits``."""

    async def test_there_are_as_many_permits_as_the_limit_says(self, permits: Permits) -> None:
        """A returned permit can be taken again; permits of other names do not count."""
        for permit in ("a", "b"):
            assert await permits.take(permit, [TWO], LONG_S) is None
        assert await permits.take("c", [TWO], LONG_S) == LimitReached("lanes.slow")
        assert await permits.take("c", [SharedLimit("lanes.other", 2)], LONG_S) is None
        assert await permits.held() == {"lanes.other": 1, "lanes.slow": 2}
        await permits.give_back([Permit("a", ("lanes.slow",))])
        assert await permits.take("d", [TWO], LONG_S) is None
        assert await permits.take("e", [TWO], LONG_S) is not None

    async def test_a_permit_counts_under_all_of_its_limits_or_under_none(
        self, permits: Permits
    ) -> None:
        """A permit is taken under all of its limits or under none."""
        both = [SharedLimit("model", 1), TWO]
        assert await permits.take("a", both, LONG_S) is None
        assert await permits.take("b", both, LONG_S) == LimitReached("model")
        assert await permits.held() == {"lanes.slow": 1, "model": 1}
        await permits.give_back([Permit("a", ("model", "lanes.slow"))])
        assert await permits.held() == {}

    async def test_a_lease_that_nobody_renews_ends(self, permits: Permits) -> None:
        """If a lease is not renewed, it ends, and others can take the permit."""
        one = SharedLimit("one", 1)
        await permits.take("dead", [one], SHORT_S)
        await take_at_last(permits, "living", one)
        assert await permits.take("another", [one], LONG_S) is not None

    async def test_a_renewed_permit_goes_on_and_a_lost_one_counts_again(
        self, permits: Permits
    ) -> None:
        """A renewed permit counts even if the storage had lost it: its holder is still working."""
        held, lost = Permit("held", ("lanes.slow",)), Permit("lost", ("lanes.slow",))
        await permits.take("held", [TWO], SHORT_S)
        await permits.renew([held], LONG_S)
        other = SharedLimit("other", 1)
        await permits.take("other", [other], SHORT_S)
        await take_at_last(permits, "next", other)
        assert (await permits.held())["lanes.slow"] == 1
        await permits.renew([held, lost], LONG_S)
        assert (await permits.held())["lanes.slow"] == 2
        assert await permits.take("late", [TWO], LONG_S) is not None

    async def test_no_more_are_taken_in_a_period_however_soon_they_are_returned(
        self, permits: Permits
    ) -> None:
        """Returning a permit early frees nothing; the answer says when one will be free."""
        rate = SharedLimit("rate", 2, LONG_S)
        for permit in ("a", "b"):
            assert await permits.take(permit, [rate], SHORT_S) is None
            await permits.give_back([Permit(permit, ("rate",))])
        reached = await permits.take("c", [rate], LONG_S)
        assert reached is not None
        assert 0 < reached.seconds <= LONG_S
        short = SharedLimit("short", 1, SHORT_S)
        assert await permits.take("a", [short], LONG_S) is None
        await take_at_last(permits, "b", short)

    async def test_many_at_once_take_no_more_than_there_are(self, permits: Permits) -> None:
        """Counting and taking are one step, so many at once cannot exceed the limit."""
        limits = [SharedLimit("five", 5), SharedLimit("fifty", 50, LONG_S)]
        taken = await asyncio.gather(
            *(permits.take(str(number), limits, LONG_S) for number in range(20))
        )
        assert taken.count(None) == 5
        assert await permits.held() == {"fifty": 5, "five": 5}

    async def test_nothing_is_done_for_nothing(self, permits: Permits) -> None:
        """Without limits, a permit is always granted."""
        assert await permits.take("a", [], LONG_S) is None
        await permits.renew([], LONG_S)
        await permits.give_back([Permit("unknown", ("nowhere",))])
        assert await permits.held() == {}

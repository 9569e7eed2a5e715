"""Conformance tests for arrivals, to run with your own storage.

Subclass `ArrivalsSuite` in a test module and give it the pytest fixtures ``arrivals``, and
``elsewhere``: another open storage of the same world, as of another process.
"""

from __future__ import annotations

import asyncio

from artificer.ports import Arrivals, Head, Storage
from artificer.testing.records import records_after

LONG_S = 60.0
"""Seconds that are longer than any test waits."""


class ArrivalsSuite:
    """The behavior of the `Arrivals` port."""

    async def test_a_new_run_arrives(self, arrivals: Arrivals, elsewhere: Storage) -> None:
        """A new run arrives when it has its first record."""
        await arrivals.wait(0)
        waiting = asyncio.create_task(arrivals.wait(LONG_S))
        lease = await elsewhere.journal.acquire("r")
        await elsewhere.journal.append("r", lease.epoch, Head(), records_after(Head(), "r", 1))
        await asyncio.wait_for(waiting, LONG_S / 2)

    async def test_a_signal_arrives(self, arrivals: Arrivals, elsewhere: Storage) -> None:
        """A process that waits is notified of a signal."""
        await arrivals.wait(0)
        waiting = asyncio.create_task(arrivals.wait(LONG_S))
        await elsewhere.signals.post("r", b"{}")
        await asyncio.wait_for(waiting, LONG_S / 2)

    async def test_what_came_between_two_calls_is_not_missed(
        self, arrivals: Arrivals, elsewhere: Storage
    ) -> None:
        """If something came between two calls, the next call returns at once."""
        await arrivals.wait(0)
        await elsewhere.signals.post("r", b"{}")
        await asyncio.wait_for(arrivals.wait(LONG_S), LONG_S / 2)

    async def test_without_news_it_lasts_its_time(self, arrivals: Arrivals) -> None:
        """Without news, a call lasts its time; the caller then checks by itself."""
        await arrivals.wait(0)
        await asyncio.wait_for(arrivals.wait(0.01), LONG_S / 2)

"""Conformance tests for signals, to run with your own.

Subclass `SignalsSuite` in a test module and give it a pytest fixture ``signals`` that yields fresh
ones. The tests are coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio

from artificer.ports import Signals


class SignalsSuite:
    """The behavior of the `Signals` port. Subclass it and give it a fixture ``signals``."""

    async def test_signals_are_numbered_in_each_run_and_stay(self, signals: Signals) -> None:
        """Reading removes nothing; ``after`` skips the first ones."""
        assert [await signals.post("a", b"1"), await signals.post("b", b"2")] == [1, 1]
        assert await signals.post("a", b"\x00\xff") == 2
        for _ in range(2):
            assert await signals.read("a") == [(1, b"1"), (2, b"\x00\xff")]
        assert await signals.read("a", 1) == [(2, b"\x00\xff")]
        assert await signals.read("nobody") == []

    async def test_many_signals_are_in_the_order_of_their_numbers(self, signals: Signals) -> None:
        """They are sorted by number, not by text; none is lost when many are posted at once."""
        numbers = await asyncio.gather(*(signals.post("a", b"%d" % n) for n in range(12)))
        await signals.post("a1", b"another run's")
        assert sorted(numbers) == [*range(1, 13)]
        bodies = {number: b"%d" % n for n, number in enumerate(numbers)}
        assert await signals.read("a") == sorted(bodies.items())
        assert await signals.read("a", 9) == sorted(bodies.items())[9:]

    async def test_runs_with_new_signals_are_named(self, signals: Signals) -> None:
        """Each run is named once after a position; without one, only the position is returned."""
        await signals.post("before", b"")
        start, named = await signals.since(None)
        assert named == frozenset()
        for run in ("a", "b", "a"):
            await signals.post(run, b"")
        position, named = await signals.since(start)
        assert named == {"a", "b"}
        assert await signals.since(position) == (position, frozenset())

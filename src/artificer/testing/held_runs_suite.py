"""The contract of journals that list held runs, as tests: one of your own passes them too."""

from __future__ import annotations

import pytest

from artificer.ports import Claim, Holding, Journal


class HeldRunsSuite:
    """The behaviour of the `Holding` port. Subclass it and give it a fixture ``journal``."""

    async def test_held_runs_are_listed_by_their_holders(self, journal: Journal) -> None:
        """A run that was released has no holder, also when somebody may still execute it."""
        if not isinstance(journal, Holding):
            pytest.skip("this journal lists no held runs")
        assert await journal.holders() == []
        for run, owner in {"a": "one", "b": "two", "c": "one", "d": "one", "e": ""}.items():
            lease = await journal.acquire(run, Claim(owner))
        lease = await journal.acquire("c", Claim("two", admit=lambda _: "one"))
        assert sorted(await journal.holders()) == ["one", "two"]
        assert await journal.held_by(["one"], 9) == ["a", "d"]
        assert await journal.held_by(["one", "two", ""], 3) == ["a", "b", "c"]
        await journal.release("c", lease.epoch)
        assert await journal.held_by(["two", "none"], 9) == ["b"]

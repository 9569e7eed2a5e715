"""Conformance tests for who may write to a run: part of `JournalSuite`."""

from __future__ import annotations

import asyncio

from artificer.errors import Fenced, OwnedError
from artificer.ports import Claim, Head, Journal, Lease
from artificer.testing.records import records_after, refusal


class LeasesSuite:
    """The behavior of the `Leases` port, with a fixture ``journal``."""

    async def test_a_claim_is_admitted_by_the_former_owner(self, journal: Journal) -> None:
        """A claim gets the former owner, or None if the run is new or was released."""
        shown: list[str | None] = []
        for owner in ("one", "two"):
            await journal.acquire("a", Claim(owner, admit=shown.append))
        lease = await journal.acquire("a", Claim("three", admit=shown.append))
        await journal.release("a", lease.epoch)
        await journal.acquire("a", Claim("four", admit=shown.append))
        assert shown == ["", "one", "two", ""]

    async def test_a_refused_claim_changes_nothing(self, journal: Journal) -> None:
        """The owner can continue, whether the head or the former owner led to the refusal."""

        def refuse(former: str | None) -> None:
            raise OwnedError(f"{former} lives.")

        lease = await journal.acquire("a", Claim("one"))
        head = await journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
        for claim in (Claim("two", admit=refuse), Claim("two", Head())):
            refused = await refusal(journal.acquire("a", claim))
            assert isinstance(refused, OwnedError if claim.head is None else Fenced)
        assert isinstance(await refusal(journal.acquire("b", Claim("two", head))), Fenced)
        await journal.append("a", lease.epoch, head, records_after(head, "a", 2))
        shown: list[str | None] = []
        await journal.acquire("a", Claim("two", admit=shown.append))
        assert shown == ["one"]
        assert [row.run for row in await journal.runs()] == ["a"]

    async def test_who_may_still_act_is_shown_until_the_next_record(self, journal: Journal) -> None:
        """A process that takes a run from a living owner may die before recording that."""
        shown: list[str | None] = []

        def take(former: str | None) -> str | None:
            shown.append(former)
            return former

        await journal.acquire("a", Claim("one"))
        await journal.acquire("a", Claim("two", admit=take))
        lease = await journal.acquire("a", Claim("three", admit=take))
        await journal.release("a", lease.epoch)
        lease = await journal.acquire("a", Claim("four", admit=take))
        await journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
        lease = await journal.acquire("a", Claim("five", admit=shown.append))
        await journal.release("a", lease.epoch)
        await journal.acquire("a", Claim("six", admit=shown.append))
        assert shown == ["one", "two one", "two one", "four", ""]

    async def test_of_many_claims_on_one_head_one_is_met(self, journal: Journal) -> None:
        """Of contenders that read the same owner, one acquires the run; the others change nothing.

        So the one that has acquired it can append.
        """
        await journal.acquire("a", Claim("dead"))
        leases: list[Lease] = []

        async def contend(name: str) -> None:
            def admit(former: str | None) -> None:
                if former != "dead":
                    raise OwnedError(f"{former} lives.")

            leases.append(await journal.acquire("a", Claim(name, Head(), admit)))

        refusals = await asyncio.gather(*(refusal(contend(f"c{n}")) for n in range(10)))
        assert [type(refusal) for refusal in refusals].count(OwnedError) == 9
        await journal.append("a", leases[0].epoch, Head(), records_after(Head(), "a", 1))

    async def test_a_stale_owner_releases_nothing(self, journal: Journal) -> None:
        """Only the holder of the current epoch can release a run; unknown runs stay unknown."""
        stale = await journal.acquire("a", Claim("one"))
        await journal.acquire("a", Claim("two"))
        await journal.release("a", stale.epoch)
        await journal.release("b", 1)
        shown: list[str | None] = []
        await journal.acquire("a", Claim("three", admit=shown.append))
        assert shown == ["two"]
        assert len(await journal.runs()) == 1

"""The accounts of leased jobs, on another machine."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from msgspec import Struct

from artificer.errors import OperatorError
from artificer.ports import Amount, Correction, Reservation, Settlement, Spending, Spent
from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.leases import HeldJobs
from artificer.storage.remote.shapes import spending_of


class _Done(Struct):
    pass


class RemoteBudget:
    """The `Budget` of a world, as far as leased jobs spend from it."""

    def __init__(self, api: ApiClient, held: HeldJobs) -> None:
        self._api = api
        self._held = held

    async def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Reserve all of these amounts, within the server's own limits. Raises BudgetError."""
        await self._spend(Spending(reservations=reservations))

    async def settle(self, settlements: Sequence[Settlement]) -> None:
        """Count what requests have really cost."""
        await self._spend(Spending(settlements))

    async def spent(self, account: str, now: int) -> Spent:
        """Return what an account has spent, and what is reserved from it."""
        job = self._held.candidates()[0]
        query = {**job.token(), "account": account, "now": now}
        return await self._api.ask(Spent, "GET", ("jobs", job.run, "accounts"), query)

    async def correct(self, account: str, correction: Correction) -> Amount:
        """Refuse: people do this where the world is. Raises OperatorError."""
        raise OperatorError(
            "A worker cannot correct a budget.",
            hint="Use `artificer budget` on a machine with access to the world.",
        )

    async def _spend(self, spending: Spending) -> None:
        if not spending.settlements and not spending.reservations:
            return
        job = self._held.candidates()[0]
        written = spending_of(spending)
        body = {**job.token(), "spending": written, "request": secrets.token_hex(16)}
        await self._api.ask(_Done, "POST", ("jobs", job.run, "spending"), None, body)

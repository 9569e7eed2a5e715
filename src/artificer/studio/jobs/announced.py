"""Leases for others: where several machines write a world, its storage knows who has leased runs.

On the machine of the queue its own file says so.
"""

from __future__ import annotations

import asyncio

from artificer.ownership.job_leases import who_leases
from artificer.ports import HasOwnerLeases, LeasedOwner, OwnerHost, OwnerLeases
from artificer.studio.jobs.rows import JobRow
from artificer.wiring.storage import OpenStorage

_NOWHERE = OwnerHost("", "")
"""The machine of a worker over HTTP: no other process can look whether it lives."""


class AnnouncedLeases:
    """The leases of workers in a storage that has those of owners; elsewhere this does nothing."""

    def __init__(self, storage: OpenStorage) -> None:
        shared: object = storage.storage
        self._leases: OwnerLeases | None = None
        if isinstance(shared, HasOwnerLeases):
            self._leases = shared.owner_leases

    async def renew(self, row: JobRow) -> None:
        """Begin or extend a lease, before its worker takes runs. Raises OperatorError."""
        if self._leases is not None:
            owner = LeasedOwner(row.owner, _NOWHERE, who_leases(row.worker))
            await asyncio.to_thread(self._leases.renew, owner, row.seconds)

    async def end(self, row: JobRow) -> None:
        """Forget a lease whose worker has released its runs. Raises OperatorError."""
        if self._leases is not None:
            await asyncio.to_thread(self._leases.end, row.owner, dead=False)

    def close(self) -> None:
        """Close what is open."""
        if self._leases is not None:
            self._leases.close()

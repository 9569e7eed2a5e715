"""The port to the processes of calls: whether they are still alive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from artificer.ports.executor import CallLocks


class Locks(Protocol):
    """Knows whether the processes of calls are still alive."""

    def of(self, key: str) -> CallLocks:
        """The locks that the processes of a call hold, by its idempotency key."""

    async def held(self, keys: Iterable[str]) -> dict[str, str]:
        """Wait a bounded time for the processes of these calls to end.

        Returns, for calls whose processes have not ended, why they are uncertain, naming the
        processes.
        """

    def forget(self, keys: Iterable[str]) -> None:
        """Remove the locks of calls whose results are recorded."""

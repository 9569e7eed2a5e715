"""The port to announcements of new runs and signals for workers.

An announcement is a hint that may be lost or wrong: workers also poll.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


class Arrivals(Protocol):
    """The new runs and signals of a world, from any process on any machine."""

    async def wait(self, seconds: float) -> None:
        """Return when a run has started or a signal was posted since the last call, or after a
        time.

        The first call starts watching. Only one task may wait at a time. Raises nothing: if the
        server is unreachable, it waits for ``seconds``.
        """


@runtime_checkable
class HasArrivals(Protocol):
    """A storage that announces new runs and signals."""

    @property
    def arrivals(self) -> Arrivals:
        """The new runs and signals."""

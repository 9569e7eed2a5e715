"""The seam to what announces new runs and signals to workers.

It is a hint that may be lost, or come for nothing: workers look every moment all the same.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


class Arrivals(Protocol):
    """The new runs and signals of a world, from any process on any machine."""

    async def wait(self, seconds: float) -> None:
        """Return when a run has begun or a signal was posted since the last call, or after a time.

        The first call begins to look. One task at a time may wait. Raises nothing: without its
        server, it lasts ``seconds``.
        """


@runtime_checkable
class HasArrivals(Protocol):
    """A storage that announces what comes into its world."""

    @property
    def arrivals(self) -> Arrivals:
        """The new runs and signals."""

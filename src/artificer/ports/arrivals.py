"""The seam to what tells workers at once that something has come: a new run, or a signal.

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
    """A storage that tells what comes into its world."""

    @property
    def arrivals(self) -> Arrivals:
        """The new runs and signals."""

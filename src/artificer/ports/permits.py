"""The port to limits that all processes of a world share: how much at once, and how often.

This data may be lost at any time. Then one too many runs for a moment, and nothing else happens:
only the journal decides what is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct


class SharedLimit(Struct, frozen=True):
    """At most ``count`` permits under this name.

    Without ``period_s`` a permit counts while it is held. With it, a permit counts for that many
    seconds after it was taken, so no more than ``count`` are taken within any such period.
    """

    name: str
    count: int
    period_s: float | None = None


class Permit(Struct, frozen=True):
    """The right to do one thing, while it is held. ``limits`` are the names that it counts under
    until it is given back or its lease ends.
    """

    id: str
    limits: tuple[str, ...] = ()


class LimitReached(Struct, frozen=True):
    """There is no permit now. ``seconds`` is when there will be one, or 0 if that is unknown."""

    name: str
    seconds: float = 0.0


class Permits(Protocol):
    """The permits of a world. Its own clock counts.

    All methods raise OperatorError when the storage cannot be reached.
    """

    async def take(
        self, permit: str, limits: Sequence[SharedLimit], lease_s: float
    ) -> LimitReached | None:
        """Take a permit with a new id under all of these limits, or under none of them.

        Returns None if it was taken, for ``lease_s`` from now; otherwise a limit that is reached.
        """

    async def renew(self, permits: Sequence[Permit], lease_s: float) -> None:
        """Extend permits; one that was lost, or whose lease had ended, counts again from now."""

    async def give_back(self, permits: Sequence[Permit]) -> None:
        """End permits. Those that count for a period still count."""

    async def held(self) -> Mapping[str, int]:
        """Return how many permits count under each name."""


@runtime_checkable
class HasPermits(Protocol):
    """A storage whose processes share limits."""

    @property
    def permits(self) -> Permits:
        """The permits of its world."""


@runtime_checkable
class HasRequestLimits(Protocol):
    """A storage that defines the limits of requests itself, such as one on another machine."""

    @property
    def request_limits(self) -> Mapping[str, tuple[SharedLimit, ...]]:
        """The current limits of each provider and ``provider/model`` that has any."""

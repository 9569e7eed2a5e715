"""The seam to limits that all processes of a world share: what goes on at once, and how often.

What is kept here may be lost at any time. Then one too many goes on for a moment, and nothing else
happens: the journal alone says what is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct


class SharedLimit(Struct, frozen=True):
    """At most ``count`` permits under this name.

    Without ``period_s`` a permit counts while it is held, and with it for so many seconds after it
    was taken, whatever becomes of it: so no more are taken within any such time.
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
    """There is no permit now. ``seconds`` is when there will be one, 0 where nobody knows."""

    name: str
    seconds: float = 0.0


class Permits(Protocol):
    """The permits of a world. Its own clock counts.

    All methods raise OperatorError when the storage cannot be reached.
    """

    async def take(
        self, permit: str, limits: Sequence[SharedLimit], lease_s: float
    ) -> LimitReached | None:
        """Take a permit of a new id under all of these limits, or under none of them.

        Returns None when it is taken: for ``lease_s`` from now on. Otherwise one that is reached.
        """

    async def renew(self, permits: Sequence[Permit], lease_s: float) -> None:
        """Extend permits; one that was lost, or whose lease had ended, counts again from now on."""

    async def give_back(self, permits: Sequence[Permit]) -> None:
        """End permits. What counts for a period goes on to count."""

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
    """A storage that says itself which limits requests have, as that of another machine."""

    @property
    def request_limits(self) -> Mapping[str, tuple[SharedLimit, ...]]:
        """The present limits of each provider and ``provider/model`` that has any."""

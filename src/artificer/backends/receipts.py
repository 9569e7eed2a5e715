"""The common parts of the receipts of tools that keep evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from artificer.system.utc import utc_timestamp
from artificer.values.blocks import CallStatus

Now = Callable[[], int]
"""The clock of a world: milliseconds since 1970-01-01 UTC."""


@dataclass(frozen=True)
class Began:
    """When a call began, by the clock of its world."""

    _at: int
    _now: Now

    @classmethod
    def at(cls, now: Now) -> Began:
        """Return a call that begins now."""
        return cls(now(), now)

    @property
    def timestamp(self) -> str:
        """The moment for people: RFC 3339 in UTC."""
        return timestamp_of(self._at)

    @property
    def duration_ms(self) -> int:
        """The milliseconds that have passed since."""
        return max(0, self._now() - self._at)


def timestamp_of(moment: int) -> str:
    """Return a moment, in milliseconds since 1970-01-01 UTC, as evidence says it: RFC 3339."""
    return utc_timestamp(moment, "milliseconds")


def status_of(outcome: str) -> CallStatus:
    """The status of a call whose envelope says this: whatever is not a success is an error."""
    known: dict[str, CallStatus] = {"success": "ok", "timeout": "timeout"}
    return known.get(outcome, "error")

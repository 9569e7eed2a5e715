"""The common parts of the receipts of tools that keep evidence."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from artificer.values.blocks import CallStatus


@dataclass(frozen=True)
class Began:
    """When a call began: for people, RFC 3339 in UTC, and for its duration."""

    timestamp: str
    _ticks: float

    @classmethod
    def now(cls) -> Began:
        """This moment."""
        return cls(datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic())

    @property
    def duration_ms(self) -> int:
        """The milliseconds that have passed since."""
        return round((time.monotonic() - self._ticks) * 1000)


def status_of(outcome: str) -> CallStatus:
    """The status of a call whose envelope says this: whatever is no success is an error."""
    known: dict[str, CallStatus] = {"success": "ok", "timeout": "timeout"}
    return known.get(outcome, "error")

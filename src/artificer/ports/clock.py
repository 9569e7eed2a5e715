"""The port to time and identity."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Time and ids, the only inputs that a replay could not compute."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""

    def new_run_id(self) -> str:
        """A fresh run id: sortable by time, ``[a-z0-9-]``."""


def wall_time() -> int:
    """Return milliseconds since 1970-01-01 UTC, if a caller passed no clock."""
    return time.time_ns() // 1_000_000

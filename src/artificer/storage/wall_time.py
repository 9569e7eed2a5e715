"""The time of a storage that was given no clock."""

from __future__ import annotations

import time


def wall_time() -> int:
    """Return milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000

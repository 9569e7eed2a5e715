"""How many requests one sender may make."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

MAX_SENDERS = 10_000
"""Senders that are remembered; the one who was silent longest is forgotten for a new one."""


class RateLimit:
    """Lets each sender make ``per_minute`` requests a minute, and as many at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, sender: str) -> int:
        """Count a request. Return 0, or the seconds to wait before one is let through."""
        now = self._clock()
        left, at = self._left.pop(sender, (self._size, now))
        left = min(self._size, left + (now - at) * self._per_second)
        seconds = 0 if left >= 1 else max(1, math.ceil((1 - left) / self._per_second))
        self._left[sender] = (left if seconds else left - 1, now)
        while len(self._left) > MAX_SENDERS:
            self._left.popitem(last=False)
        return seconds

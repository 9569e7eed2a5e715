"""The real clock and real ids."""

from __future__ import annotations

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    """Wall time and random run ids (ports.Clock)."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    def new_run_id(self) -> str:
        """Ten characters of time, which sort, and six of chance: ``06a9x3k2vq-7m2d9c``."""
        stamp, letters = self.now(), []
        for _ in range(10):
            stamp, digit = divmod(stamp, 32)
            letters.append(_ALPHABET[digit])
        chance = "".join(secrets.choice(_ALPHABET) for _ in range(6))
        return "".join(reversed(letters)) + "-" + chance

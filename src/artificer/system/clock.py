"""The real clock and real ids."""

from __future__ import annotations

import secrets
import time

from artificer.errors import OperatorError

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that is never set, and that includes the machine's sleep where one exists."""


def _steady_ns() -> int:
    return time.clock_gettime_ns(_STEADY)


LATEST = 250_246_627_200_000
"""The year 9900, in milliseconds: dates end with 9999, and some things are planned ahead."""


class SystemClock:
    """Wall time and random run ids (ports.Clock).

    The wall clock is read once; later times are counted from there. A clock that is set during a
    run, by a day or by years, must not end the run by its time limit.

    Raises OperatorError for a wall clock before 1970 or beyond 9900.
    """

    def __init__(self) -> None:
        now = time.time_ns()
        if not 0 <= now // 1_000_000 < LATEST:
            years = now / 1_000_000_000 / 31_556_952
            raise OperatorError(
                f"The clock of this machine says that it is about the year {int(1970 + years)}.",
                hint="Set the clock: runs need times between 1970 and 9900.",
            )
        self._origin = now - _steady_ns()

    def now(self) -> int:
        """Return milliseconds since 1970-01-01 UTC."""
        return (self._origin + _steady_ns()) // 1_000_000

    def new_run_id(self) -> str:
        """Return ten sortable characters of time and six random ones: ``06a9x3k2vq-7m2d9c``."""
        stamp, characters = self.now(), []
        for _ in range(10):
            stamp, digit = divmod(stamp, 32)
            characters.append(_ALPHABET[digit])
        chance = "".join(secrets.choice(_ALPHABET) for _ in range(6))
        return "".join(reversed(characters)) + "-" + chance

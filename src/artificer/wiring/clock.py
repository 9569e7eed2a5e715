"""The clock of a world: that of the system, or a program's own."""

from __future__ import annotations

from artificer.errors import AuthorError
from artificer.ports import Clock
from artificer.system.clock import LATEST, SystemClock
from artificer.values.arguments import shown


def checked_clock(clock: Clock | None) -> Clock:
    """Return the clock of a world. Raises AuthorError for what is none."""
    if clock is None:
        return SystemClock()
    if not (hasattr(clock, "now") and hasattr(clock, "new_run_id")):
        raise AuthorError(
            f"{clock!r} is not a clock.",
            hint="Pass an object with `now()` and `new_run_id()`, as artificer.Clock has them.",
        )
    return clock if type(clock) is SystemClock else CheckedClock(clock)


class CheckedClock:
    """A clock of a program's own: what it says is checked before anything is recorded.

    ``now`` raises AuthorError for a time that is no whole number, before 1970 or beyond 9900.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> int:
        """Return milliseconds since 1970-01-01 UTC."""
        now: object = self._clock.now()
        if type(now) is int and 0 <= now < LATEST:
            return now
        raise AuthorError(
            f"The clock {type(self._clock).__name__} says that it is {shown(now)}, which is no "
            "whole number of milliseconds between 1970 and 9900.",
            hint="Return int(time.time() * 1000), or what stands for it.",
        )

    def new_run_id(self) -> str:
        """Return the id of a new run."""
        return self._clock.new_run_id()

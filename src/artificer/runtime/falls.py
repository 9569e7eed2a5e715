"""Runs that kill their workers: each execution ends without a new record.

What a run does may end the process that executes it, as when a function takes all the memory. The
journal shows it: the run is resumed again and again, from owners that never let go of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from artificer.core.events import CallProbed, RunResumed
from artificer.core.record import EventLine, Line

MAX_FALLS = 6
"""Falls after which workers leave a run alone, until someone says something to it."""

FALL_S, LONGEST_FALL_S = 5.0, 300.0
"""The shortest and the longest delay after a second fall, and more. The first one has none."""


def falls_of(lines: Iterable[Line]) -> int:
    """How many owners have lost the run one after the other without recording anything new.

    ``lines`` are its records, or the newest of them.
    """
    falls = 0
    for line in reversed(tuple(lines)):
        if isinstance(line, EventLine) and isinstance(line.event, RunResumed):
            falls += line.event.unreleased
        elif isinstance(line, EventLine) and not isinstance(line.event, CallProbed):
            break
    return falls


def delay_after(falls: int, run: str) -> float | None:
    """Return how long to wait after the last of these falls; None for until someone says so.

    Each run waits a little longer or shorter, so that one that only shared a process with another
    whose doing it was does not share it the next time.
    """
    if falls >= MAX_FALLS:
        return None
    if falls < 2:
        return 0.0
    share = 0.5 + crc32(run.encode()) / 2**32
    return share * min(LONGEST_FALL_S, FALL_S * 4.0 ** (falls - 2))

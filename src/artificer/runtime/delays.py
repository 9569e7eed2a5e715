"""When a stalled run is tried again: each time twice as long after the last attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from artificer.core.events import ModelFailed, ModelResponded
from artificer.core.record import EventLine, Line
from artificer.core.state import RunPhase, RunState

FIRST_S, LONGEST_S = 15.0, 3600.0
"""The shortest and the longest delay."""

ATTEMPTS = 14
"""Attempts without a reply after which a person has to resume the run: some six hours."""

LOOKED_AT = 60
"""Records that are looked at for attempts."""

PASSING: frozenset[str] = frozenset({"overloaded", "rate_limited", "timeout", "unavailable"})
"""Failures that pass by themselves; the others need a person, or another day."""


def delay_of(lines: Iterable[Line]) -> float | None:
    """Return how long to wait after the last of these records, the newest of a stalled run.

    None if waiting does not help.
    """
    failed: list[ModelFailed] = []
    for line in lines:
        if isinstance(line, EventLine) and isinstance(line.event, ModelFailed):
            failed.append(line.event)
        elif isinstance(line, EventLine) and isinstance(line.event, ModelResponded):
            failed.clear()
    sent = sum(1 for each in failed if each.attempts)  # others waited for a limit of the world
    if not failed or failed[-1].code not in PASSING or sent >= ATTEMPTS:
        return None
    return min(LONGEST_S, FIRST_S * 2.0 ** max(0, sent - 1)) if failed[-1].attempts else FIRST_S


def retry_at(state: RunState, lines: Sequence[Line]) -> int | None:
    """Return when workers ask a stalled run's model again, in milliseconds since 1970.

    None if they do not, or there is no need to.
    """
    if state.phase is not RunPhase.STALLED:
        return None
    delay = delay_of(lines[-LOOKED_AT:])
    return None if delay is None else state.now + round(delay * 1000)

"""Calls that stay open because the run that they started is idle before its end."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from artificer.values.base import Value

IdleStanding = Literal["waiting", "paused", "stalled", "open"]
"""How an idle run stands. An ``open`` one is executed by another process."""

_FIRST: tuple[IdleStanding, ...] = ("waiting", "stalled", "paused")


def idle_standing(standing: str) -> IdleStanding:
    """Return what is recorded of the standing of an idle run."""
    return next((known for known in _FIRST if known == standing), "open")


class CallWait(Value):
    """The call of an intent waits: the ``run`` that it started is idle."""

    intent: int
    run: str
    standing: IdleStanding


def standing_among(waits: Collection[CallWait], *, questions: bool) -> IdleStanding:
    """Return how a run stands that has nothing in progress but these waits, and questions.

    Someone can answer a question at once, so that comes first.
    """
    found = {wait.standing for wait in waits}
    if questions:
        return "waiting"
    return next((standing for standing in _FIRST if standing in found), "open")

"""Whether anything of a run is in progress."""

from __future__ import annotations

from artificer.core.state import RunPhase, RunState

IDLE = (RunPhase.FINISHED, RunPhase.STALLED, RunPhase.PAUSED)
"""Phases that last until a signal arrives or the run is resumed."""


def is_idle(state: RunState) -> bool:
    """Whether nothing of a run is in progress: it has ended, or waits for something."""
    return state.only_waits or state.phase in IDLE

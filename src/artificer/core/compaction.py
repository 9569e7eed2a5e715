"""The window has moved: the run continues with the turn before which it did."""

from __future__ import annotations

from artificer.core import events as ev
from artificer.core.fallback import fallen_back, falls_back
from artificer.core.measure import opening_tokens, sizes_of
from artificer.core.state import RunPhase, RunState
from artificer.core.steps import Step, settle
from artificer.core.turns import next_turn
from artificer.core.window import Window


def context_compacted(state: RunState, event: ev.ContextCompacted) -> Step:
    """A summary stands for what is no longer sent."""
    window = Window(
        start=event.upto,
        told=event.upto,
        turn=state.turn,
        summary=event.summary,
        opening=event.content,
    )
    return _go_on(settle(state, event.intent), event, window)


def compaction_failed(state: RunState, event: ev.CompactionFailed) -> Step:
    """Without a summary the oldest turns are dropped, and the model is informed.

    Where another model can be asked, it is asked first: nothing is dropped then.
    """
    if falls_back(state, event.code):
        return next_turn(fallen_back(settle(state, event.intent), event.code))
    if event.code == "budget" and state.hold != "interrupt":
        state = settle(state, event.intent)
        return state.replace(phase=RunPhase.STALLED, failure="budget"), ()
    before = state.window
    window = before.replace(start=event.upto, turn=state.turn, opening=event.content)
    return _go_on(settle(state, event.intent), event, window)


def _go_on(
    state: RunState, event: ev.ContextCompacted | ev.CompactionFailed, window: Window
) -> Step:
    cost = state.cost_micros
    if event.cost_micros is not None:
        cost = (cost or 0) + event.cost_micros
    size = sizes_of(state).since(window.start) + opening_tokens(state, window)
    window = window.replace(messages=len(state.history), tokens=size)
    return next_turn(
        state.replace(
            usage=state.usage + event.usage,
            cost_micros=cost,
            window=window,
            context_tokens=size,
            turn=state.turn - 1,
            failure=None,
        )
    )

"""The transitions of a run, as one table. The diagram in the docs is drawn from it.

Everything that decides what may happen next stands here: an event that has no row for the phase
it meets is a :class:`TransitionError`, and so is a handler that leads to a phase its row does not
name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from artificer.core import events as ev
from artificer.core import reducer as do
from artificer.core.intents import Intent
from artificer.core.state import Phase, RunState
from artificer.errors import TransitionError

P = Phase


class Row(NamedTuple):
    """What an event does in a phase, and where that may lead."""

    handler: Callable[[RunState, Any], do.Step]
    leads_to: frozenset[Phase]


def _row(handler: Callable[[RunState, Any], do.Step], *leads_to: Phase) -> Row:
    return Row(handler, frozenset(leads_to))


_AFTER_CALLS = (P.WORKING, P.GENERATING, P.FINISHING)

TABLE: dict[tuple[Phase, type[Any]], Row] = {
    (P.NEW, ev.PromptReceived): _row(do.prompt_received, P.GENERATING, P.FINISHING),
    (P.GENERATING, ev.ModelResponded): _row(do.model_responded, P.JUDGING, P.CHECKING, P.FINISHING),
    (P.GENERATING, ev.ModelFailed): _row(do.model_failed, P.STALLED, P.FINISHING),
    (P.JUDGING, ev.CallsJudged): _row(do.calls_judged, *_AFTER_CALLS),
    (P.WORKING, ev.ApprovalAnswered): _row(do.approval_answered, *_AFTER_CALLS),
    (P.WORKING, ev.ToolReturned): _row(do.tool_returned, *_AFTER_CALLS),
    (P.CHECKING, ev.ReplyChecked): _row(do.reply_checked, P.GENERATING, P.FINISHING),
    (P.FINISHING, ev.RunFinished): _row(do.run_finished, P.FINISHED),
    # A process that takes a run up again says so first; only a stalled run moves by it.
    (P.GENERATING, ev.RunResumed): _row(do.run_resumed, P.GENERATING),
    (P.WORKING, ev.RunResumed): _row(do.run_resumed, P.WORKING),
    (P.STALLED, ev.RunResumed): _row(do.run_resumed, P.GENERATING, P.FINISHING),
    # A fork takes over the facts of another run up to where nothing but a request is pending.
    (P.GENERATING, ev.RunForked): _row(do.run_forked, P.GENERATING, P.FINISHING),
    (P.STALLED, ev.RunForked): _row(do.run_forked, P.GENERATING, P.FINISHING),
    (P.FINISHED, ev.RunForked): _row(do.run_forked, P.GENERATING, P.FINISHING),
    # Cancelling ends whatever can still be ended.
    (P.GENERATING, ev.CancelRequested): _row(do.cancel_requested, P.FINISHING),
    (P.WORKING, ev.CancelRequested): _row(do.cancel_requested, P.FINISHING),
    (P.STALLED, ev.CancelRequested): _row(do.cancel_requested, P.FINISHING),
}


def reduce(state: RunState, event: ev.Event) -> tuple[RunState, tuple[Intent, ...]]:
    """Return the state after ``event``, and what should now be done.

    Raises:
        TransitionError: the event has no place in this phase.
        InvariantError: the event contradicts the state, as a receipt of no pending intent does.
    """
    row = TABLE.get((state.phase, type(event)))
    if row is None:
        raise TransitionError(f"{type(event).__name__} has no place in phase {state.phase!r}.")
    now = max(state.now, event.at)  # a clock that was set back does not turn time around
    after, intents = row.handler(state.model_copy(update={"now": now}), event)
    if after.phase not in row.leads_to:
        raise TransitionError(
            f"{type(event).__name__} led from {state.phase!r} to {after.phase!r}, "
            "which its row does not name."
        )
    return after, intents


def diagram() -> str:
    """Draw the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> new"]
    lines += [
        f"    {phase} --> {target}: {event.__name__}"
        for (phase, event), row in TABLE.items()
        for target in sorted(row.leads_to)
    ]
    return "\n".join([*lines, "    finished --> [*]", ""])

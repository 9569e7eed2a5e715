"""The transitions of a run, as one table. The diagram in the docs is drawn from it.

Everything that decides what may happen next stands here: an event that has no row for the phase
it meets is a :class:`TransitionError`, and so is a handler that leads to a phase its row does not
name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from artificer.core import builds, calls, compaction, lifecycle, replies
from artificer.core import events as ev
from artificer.core.intents import Intent
from artificer.core.state import RunPhase, RunState
from artificer.core.steps import Step
from artificer.errors import TransitionError

P = RunPhase


class Row(Struct, frozen=True):
    """The effect of an event in a phase, and the phases that it may lead to."""

    handler: Callable[[RunState, Any], Step]
    leads_to: frozenset[RunPhase]


def _row(handler: Callable[[RunState, Any], Step], *leads_to: RunPhase) -> Row:
    return Row(handler, frozenset(leads_to))


_TURN = (P.GENERATING, P.COMPACTING, P.FINISHING)
_AFTER_CALLS = (P.WORKING, *_TURN, P.PAUSED, P.CHECKING)
_AFTER_HOLDING = (P.WORKING, P.FINISHING, P.PAUSED, P.CHECKING)

TABLE: dict[tuple[RunPhase, type[Any]], Row] = {
    (P.NEW, ev.PromptReceived): _row(lifecycle.prompt_received, *_TURN, P.BUILDING),
    (P.GENERATING, ev.ModelResponded): _row(
        replies.model_responded, P.JUDGING, P.CHECKING, P.FINISHING
    ),
    (P.GENERATING, ev.ModelFailed): _row(
        replies.model_failed, P.STALLED, P.FINISHING, P.GENERATING, P.COMPACTING, P.PAUSED
    ),
    (P.COMPACTING, ev.ContextCompacted): _row(
        compaction.context_compacted, P.GENERATING, P.FINISHING, P.PAUSED
    ),
    (P.COMPACTING, ev.CompactionFailed): _row(
        compaction.compaction_failed, *_TURN, P.PAUSED, P.STALLED
    ),
    (P.JUDGING, ev.CallsJudged): _row(calls.calls_judged, P.WORKING, *_TURN, P.PAUSED),
    (P.WORKING, ev.ApprovalAnswered): _row(calls.approval_answered, *_AFTER_CALLS),
    (P.WORKING, ev.ToolReturned): _row(calls.tool_returned, *_AFTER_CALLS),
    (P.WORKING, ev.CallWaiting): _row(calls.call_waiting, *_AFTER_CALLS),
    (P.WORKING, ev.CallContinued): _row(calls.call_continued, P.WORKING),
    (P.WORKING, ev.CallProbed): _row(lifecycle.call_probed, P.WORKING),
    (P.CHECKING, ev.ReplyChecked): _row(replies.reply_checked, *_TURN, P.PAUSED),
    # The agent's own code had not come to a verdict; it is asked again.
    (P.CHECKING, ev.RunResumed): _row(lifecycle.run_resumed, P.CHECKING),
    (P.CHECKING, ev.CancelRequested): _row(lifecycle.cancel_requested, P.FINISHING),
    (P.FINISHING, ev.RunFinished): _row(lifecycle.run_finished, P.FINISHED, *_TURN),
    # A process that resumes a run records that first; an idle run continues with it.
    (P.GENERATING, ev.RunResumed): _row(lifecycle.run_resumed, P.GENERATING),
    (P.COMPACTING, ev.RunResumed): _row(lifecycle.run_resumed, P.COMPACTING),
    (P.WORKING, ev.RunResumed): _row(lifecycle.run_resumed, P.WORKING),
    (P.STALLED, ev.RunResumed): _row(lifecycle.run_resumed, *_TURN),
    (P.PAUSED, ev.RunResumed): _row(lifecycle.run_resumed, *_AFTER_CALLS),
    (P.PAUSED, ev.ApprovalAnswered): _row(calls.approval_answered, P.PAUSED, P.FINISHING),
    # A fork takes over the facts of another run up to where nothing but a request is pending.
    (P.GENERATING, ev.RunForked): _row(lifecycle.run_forked, *_TURN),
    (P.STALLED, ev.RunForked): _row(lifecycle.run_forked, *_TURN),
    (P.FINISHED, ev.RunForked): _row(lifecycle.run_forked, *_TURN),
    (P.FINISHED, ev.RunPruned): _row(lifecycle.run_pruned, P.FINISHED),
    # Cancelling ends whatever can still be ended; holding lets it end.
    (P.GENERATING, ev.CancelRequested): _row(lifecycle.cancel_requested, P.FINISHING),
    (P.COMPACTING, ev.CancelRequested): _row(lifecycle.cancel_requested, P.FINISHING),
    (P.WORKING, ev.CancelRequested): _row(lifecycle.cancel_requested, P.FINISHING),
    (P.STALLED, ev.CancelRequested): _row(lifecycle.cancel_requested, P.FINISHING),
    (P.PAUSED, ev.CancelRequested): _row(lifecycle.cancel_requested, P.FINISHING),
    (P.GENERATING, ev.InterruptRequested): _row(lifecycle.interrupt_requested, P.GENERATING),
    (P.COMPACTING, ev.InterruptRequested): _row(lifecycle.interrupt_requested, P.COMPACTING),
    (P.WORKING, ev.InterruptRequested): _row(lifecycle.interrupt_requested, *_AFTER_HOLDING),
    (P.STALLED, ev.InterruptRequested): _row(lifecycle.interrupt_requested, P.FINISHING),
    (P.PAUSED, ev.InterruptRequested): _row(lifecycle.interrupt_requested, P.FINISHING),
    (P.GENERATING, ev.PauseRequested): _row(lifecycle.pause_requested, P.GENERATING),
    (P.COMPACTING, ev.PauseRequested): _row(lifecycle.pause_requested, P.COMPACTING),
    (P.WORKING, ev.PauseRequested): _row(lifecycle.pause_requested, *_AFTER_HOLDING),
    (P.STALLED, ev.PauseRequested): _row(lifecycle.pause_requested, P.STALLED),
    (P.PAUSED, ev.PauseRequested): _row(lifecycle.pause_requested, P.PAUSED),
    # A build's scheduler receives facts until it ends the build.
    (P.BUILDING, ev.BuildAdvanced): _row(builds.build_advanced, P.BUILDING, P.FINISHING),
    (P.BUILDING, ev.RunResumed): _row(builds.build_resumed, P.BUILDING),
    (P.BUILDING, ev.RunForked): _row(builds.build_forked, P.BUILDING),
    (P.BUILDING, ev.CancelRequested): _row(builds.build_cancelled, P.FINISHING),
    (P.BUILDING, ev.InterruptRequested): _row(builds.build_cancelled, P.FINISHING),
    (P.BUILDING, ev.PauseRequested): _row(builds.build_paused, P.BUILDING),
    (P.BUILDING, ev.Steered): _row(builds.build_steered, P.BUILDING),
    (P.BUILDING, ev.ReceiptIgnored): _row(lifecycle.receipt_ignored, P.BUILDING),
    # More to ask: at once when the run is finished, else afterwards.
    (P.FINISHED, ev.FollowUpReceived): _row(lifecycle.follow_up_received, *_TURN),
}

# What may come between any two commits and changes nothing about what is in progress.
for phase in (P.GENERATING, P.COMPACTING, P.WORKING, P.STALLED, P.PAUSED, P.FINISHED):
    TABLE[phase, ev.DoubtResolved] = _row(lifecycle.doubt_resolved, phase)
    TABLE[phase, ev.ReceiptIgnored] = _row(lifecycle.receipt_ignored, phase)
    TABLE[phase, ev.ChecklistTicked] = _row(lifecycle.checklist_ticked, phase)
for phase in (P.GENERATING, P.COMPACTING, P.WORKING, P.STALLED, P.PAUSED):
    TABLE[phase, ev.Steered] = _row(lifecycle.steered, phase)
    TABLE[phase, ev.FollowUpReceived] = _row(lifecycle.follow_up_received, phase)


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
    after, intents = row.handler(_passed(state, now), event)
    if after.phase not in row.leads_to:
        raise TransitionError(
            f"{type(event).__name__} led from {state.phase!r} to {after.phase!r}, "
            "which its row does not name."
        )
    return after, intents


def _passed(state: RunState, now: int) -> RunState:
    """The state at a later time. Where nothing is in progress, the run's own time stands."""
    if now == state.now:
        return state
    if state.spec is None or state.spec.limits.waiting_counts or not state.only_waits:
        return state.replace(now=now)
    return state.replace(now=now, running_since=state.running_since + now - state.now)


def diagram() -> str:
    """Draw the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> new"]
    lines += [
        f"    {phase} --> {target}: {event.__name__}"
        for (phase, event), row in TABLE.items()
        for target in sorted(row.leads_to)
    ]
    return "\n".join([*lines, "    finished --> [*]", ""])

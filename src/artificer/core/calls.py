"""The calls of a turn: judged, asked about, performed in order, answered together."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.artifacts.handover import Handover
from artificer.artifacts.ref import with_artifact
from artificer.contracts.definition import HANDOFF_ORIGIN
from artificer.core import events as ev
from artificer.core.conversation import labelled, results_of, with_message, with_sources
from artificer.core.demands import demanded_again
from artificer.core.intents import AskApproval, CallTool, CheckReply, Intent
from artificer.core.repeats import Done, Repeats, turn_digest
from artificer.core.reports import made_or_withdrawn
from artificer.core.sources import labels_of, without_label
from artificer.core.state import CallState, Doubt, RunPhase, RunState
from artificer.core.steps import (
    Step,
    answered,
    call_of,
    calls_with,
    emit,
    settle,
    without_wait,
)
from artificer.core.turns import finish, next_turn
from artificer.core.verdict import Verdict
from artificer.core.waits import CallWait
from artificer.errors import InvariantError
from artificer.values.blocks import Message, TextBlock
from artificer.values.refusal import not_ok


def calls_judged(state: RunState, event: ev.CallsJudged) -> Step:
    """Refused calls are answered at once; the others become intents, all in one commit."""
    if [c.id for c in state.calls] != [v.call_id for v in event.verdicts]:
        raise InvariantError("The verdicts are not those of the turn's calls.")
    calls: list[CallState] = []
    labels = labels_of(state.run_spec, state.sources, event.verdicts)
    for call, verdict, label in zip(state.calls, event.verdicts, labels, strict=True):
        call = call.replace(verdict=verdict, label=label)
        if verdict.verdict != "allow" and verdict.verdict != "ask":
            call = answered(call, verdict.verdict, verdict.content)
        calls.append(call)
    return dispatch(settle(state, event.intent, phase=RunPhase.WORKING, calls=tuple(calls)))


def approval_answered(state: RunState, event: ev.ApprovalAnswered) -> Step:
    """A yes performs the call, a no answers it."""
    call = call_of(state, event.intent)
    if event.approved:
        call = call.replace(approved=True)
    else:
        call = answered(call, "denied", event.content)
    state = state.replace(letters=max(state.letters, event.letter))
    return dispatch(settle(state, event.intent, calls=calls_with(state, call)))


def tool_returned(state: RunState, event: ev.ToolReturned) -> Step:
    """When the last call of the turn is answered, the model reads all answers."""
    call = _returned(call_of(state, event.intent), event)
    state = _counted(state, event)
    if event.status == "ambiguous" and call.verdict is not None:
        doubt = Doubt(call_id=call.id, tool=call.verdict.tool, arguments=call.verdict.arguments)
        state = state.replace(doubts=(*state.doubts, doubt))
    state = settle(state, event.intent, calls=calls_with(state, call))
    state = labelled(state, call)
    if event.taint is not None and state.taint is None:
        state = state.replace(taint=event.taint)
    return dispatch(state)


def _returned(call: CallState, event: ev.ToolReturned) -> CallState:
    """Give a call its result, with whatever one that ended well has made."""
    result = {"status": event.status, "content": event.content, "attachments": event.attachments}
    if event.status != "ok":
        return call.replace(**result)
    return call.replace(
        **result,
        artifact=event.artifact,
        withdrawn=event.withdrawn,
        data=event.data,
        handover=event.handover,
    )


def call_waiting(state: RunState, event: ev.CallWaiting) -> Step:
    """The call has no result yet: the run that it started is idle."""
    _check_call(state, event.intent)
    wait = CallWait(intent=event.intent, run=event.run, standing=event.standing)
    state = state.replace(waits=(*without_wait(state, event.intent), wait))
    if state.run_spec.limits.tool_ms is not None:
        state = state.replace(tool_ms=state.tool_ms + event.duration_ms)
    return dispatch(state)


def call_continued(state: RunState, event: ev.CallContinued) -> Step:
    """The call is in progress again."""
    _check_call(state, event.intent)
    return state.replace(waits=without_wait(state, event.intent)), ()


def _check_call(state: RunState, n: int) -> None:
    if (n, "CallTool") not in [(pending.n, pending.type) for pending in state.pending]:
        raise InvariantError(f"Intent {n} is no call that is under way.")


def _counted(state: RunState, event: ev.ToolReturned) -> RunState:
    limits = state.run_spec.limits
    if event.usage is not None:
        state = state.replace(usage=state.usage + event.usage)
    if event.cost_micros is not None:
        state = state.replace(cost_micros=(state.cost_micros or 0) + event.cost_micros)
    if limits.tool_ms is not None:
        state = state.replace(tool_ms=state.tool_ms + event.duration_ms)
    if limits.output_chars is not None:
        chars = state.output_chars + len(event.content)
        state = state.replace(output_chars=chars)
    return state


def dispatch(state: RunState) -> Step:
    """Ask about and perform what may be, in call order; close the turn when all is answered.

    A call waits while an earlier one, unanswered yet, needs its own resource and one of the
    two changes something. While someone holds the run nothing new begins.
    """
    if state.hold == "interrupt":
        state = _without_waiting(state)
    handover: Handover | None = None
    for call in state.calls:
        handover = handover or call.handover
    if handover is not None:
        state = _without_second(state)
    if None not in [call.status for call in state.calls]:
        state = close_turn(state)
        return _next(state) if handover is None else _taken_over(state, handover)
    if state.hold is not None:
        quiet = state.only_waits or not state.pending
        return state.replace(phase=RunPhase.PAUSED if quiet else state.phase), ()
    intents: list[Intent] = []
    calls: list[CallState] = []
    for call in state.calls:
        intent = _next_of(state, call, calls, state.next_intent + len(intents))
        if intent is not None:
            intents.append(intent)
            call = call.replace(approved=False) if call.approved else call
        calls.append(call)
    return emit(state, *intents, phase=RunPhase.WORKING, calls=tuple(calls))


def close_turn(state: RunState) -> RunState:
    """Its answers and artifacts count in call order, whichever came first."""
    for call in state.calls:
        if call.artifact is not None:
            made = with_artifact(state.artifacts, call.artifact)
            state = state.replace(artifacts=made)
        for ref in call.handover.artifacts if call.handover else ():
            state = state.replace(artifacts=with_artifact(state.artifacts, ref))
        state = made_or_withdrawn(state, call.artifact, call.withdrawn)
    repeats = _repeats(state)
    state = demanded_again(with_sources(state))
    return with_message(state, results_of(state), calls=(), repeats=repeats)


def _repeats(state: RunState) -> Repeats:
    """Compare the turn with those before it, where the run limits how often they may repeat."""
    limit = state.run_spec.limits.repeats
    if limit is None:
        return state.repeats
    written = {call.id: call for call in state.history[-1].calls}
    done: list[Done] = []
    for call in state.calls:
        read = call.verdict.arguments if call.verdict else None
        arguments = written[call.id].arguments if read is None else read
        content = without_label(call.content, call.label)
        for block in call.attachments:
            content += block.digest
        done.append(Done(written[call.id].name, arguments, call.status or "cancelled", content))
    return state.repeats.after(turn_digest(done), limit)


def _next(state: RunState) -> Step:
    return finish(state, "refused") if state.stop == "refusal" else next_turn(state)


def _taken_over(state: RunState, handover: Handover) -> Step:
    """The answer of the agent that took over is the reply of this run, and checked as one."""
    message = Message(role="assistant", blocks=(TextBlock(text=handover.narrative),))
    last = handover.narrative or state.last_text
    state = with_message(state, message, stop="end_turn", last_text=last)
    check = CheckReply(n=state.next_intent, turn=state.turn)
    return emit(state, check, phase=RunPhase.CHECKING)


def _without_second(state: RunState) -> RunState:
    """Answer the handoffs that have not begun: another agent has the conversation."""
    running = {pending.call_id for pending in state.pending if pending.type == "CallTool"}
    spec = state.run_spec
    calls: list[CallState] = []
    for call in state.calls:
        tool = spec.tool(call.verdict.tool) if call.verdict else None
        late = call.status is None and call.id not in running
        if late and tool is not None and tool.origin == HANDOFF_ORIGIN:
            call = answered(call, "cancelled", TAKEN_OVER)
        calls.append(call)
    open_calls = {call.id for call in calls if call.status is None}
    pending = tuple(pending for pending in state.pending if pending.call_id in open_calls)
    return state.replace(calls=tuple(calls), pending=pending)


TAKEN_OVER = not_ok("cancelled", "Another agent has taken the conversation over.")
"""The answer to a handoff after the first one."""


def _without_waiting(state: RunState) -> RunState:
    """Answer what has not begun, or whose run is idle; what is in progress ends."""
    idle = {wait.intent for wait in state.waits}
    under_way = [p for p in state.pending if p.type == "CallTool" and p.n not in idle]
    running = {pending.call_id for pending in under_way}
    calls = tuple(
        call if call.status or call.id in running else answered(call, "cancelled", state.hold_note)
        for call in state.calls
    )
    return state.replace(calls=calls, pending=tuple(under_way), waits=())


def _next_of(
    state: RunState, call: CallState, earlier: Sequence[CallState], n: int
) -> Intent | None:
    """The intent that brings a call on, if there is one now."""
    verdict = call.verdict
    if verdict is None or call.status is not None:
        return None
    if state.pending and call.id in [pending.call_id for pending in state.pending]:  # in progress
        return None
    if verdict.verdict == "ask" and not call.approved:
        return _ask(n, verdict)
    for other in earlier if verdict.resources else ():
        if other.status is None and _in_the_way(state, other, verdict):
            return None
    return _call_tool(n, verdict, state)


def _in_the_way(state: RunState, other: CallState, verdict: Verdict) -> bool:
    if other.verdict is None or not set(other.verdict.resources) & set(verdict.resources):
        return False
    spec = state.run_spec
    tools = (spec.tool(other.verdict.tool), spec.tool(verdict.tool))
    return any(tool is not None and tool.effect != "pure" for tool in tools)


def _call_tool(n: int, verdict: Verdict, state: RunState) -> CallTool:
    tool = state.run_spec.tool(verdict.tool)
    if tool is None or verdict.arguments is None:
        raise InvariantError(f"The gate let an unreadable call of {verdict.tool!r} through.")
    return CallTool(
        n=n,
        call_id=verdict.call_id,
        tool=verdict.tool,
        arguments=verdict.arguments,
        effect=tool.effect,
        within_ms=_within(state),
    )


def _within(state: RunState) -> int | None:
    """How long a call may still take where the run limits that; it is cut off then."""
    limit = state.run_spec.limits.tool_ms
    return None if limit is None else max(1, limit - state.tool_ms)


def _ask(n: int, verdict: Verdict) -> AskApproval:
    if verdict.arguments is None or verdict.digest is None:
        raise InvariantError(f"The gate let an unreadable call of {verdict.tool!r} through.")
    return AskApproval(
        n=n,
        call_id=verdict.call_id,
        tool=verdict.tool,
        arguments=verdict.arguments,
        call=verdict.digest,
        reason=verdict.reason,
    )

"""The reducer: ``reduce(state, event) -> (state, intents)``. No I/O, no clock, no randomness.

What may happen in which phase is the table in :mod:`artificer.core.transitions`; this file says
what then becomes of the state.
"""

from __future__ import annotations

from artificer.core import events as ev
from artificer.core.budget import reply_tokens, tokens_of
from artificer.core.call_ids import with_unique_ids
from artificer.core.gate import Verdict, with_artifact
from artificer.core.intents import (
    AskApproval,
    CallTool,
    CheckReply,
    Finish,
    FinishReason,
    Generate,
    Intent,
    JudgeCalls,
)
from artificer.core.state import (
    CallState,
    Pending,
    Phase,
    RunState,
    labelled,
    results_of,
    with_message,
)
from artificer.errors import InvariantError
from artificer.values.blocks import CallStatus, Message, ReasoningBlock, user
from artificer.values.model import RESUMABLE_FAILURES

Step = tuple[RunState, tuple[Intent, ...]]

# --- beginning, going on, ending --------------------------------------------------------------


def prompt_received(state: RunState, event: ev.PromptReceived) -> Step:
    """The prompt opens the conversation and asks for the first reply."""
    spec = event.spec
    state = state.model_copy(
        update={
            "spec": spec,
            "spec_digest": spec.digest,
            "running_since": event.at,
            "context_tokens": tokens_of(spec.system.encode()) + tokens_of(spec.toolset.encode()),
        }
    )
    return next_turn(with_message(state, user(spec.prompt)))


def next_turn(state: RunState) -> Step:
    """Ask for the next reply, or stop at a limit."""
    spec, limits = state.given, state.given.limits
    if state.turn >= limits.turns:
        return finish(state, "turn_limit")
    room = reply_tokens(spec, state.usage, state.cost_micros or 0, state.context_tokens)
    if isinstance(room, str):
        return finish(state, room)
    if state.now - state.running_since >= limits.wall_ms:
        return finish(state, "wall_limit")
    turn = state.turn + 1
    intent = Generate(
        n=state.next_intent,
        turn=turn,
        tool_choice=spec.choice(turn),
        history=state.history_digest,
        messages=len(state.history),
    )
    shorter = room if room < limits.max_tokens else None
    return _emit(state, intent, phase=Phase.GENERATING, turn=turn, reply_tokens=shorter)


def finish(state: RunState, reason: FinishReason) -> Step:
    """Deliver what there is."""
    intent = Finish(n=state.next_intent, reason=reason)
    state = state.model_copy(update={"pending": ()})
    return _emit(state, intent, phase=Phase.FINISHING, reason=reason)


def run_resumed(state: RunState, event: ev.RunResumed) -> Step:
    """The wall clock starts anew; a stalled run asks its model again."""
    state = state.model_copy(update={"running_since": state.now})
    if state.phase is not Phase.STALLED:
        return state, ()
    state = state.model_copy(update={"turn": state.turn - 1, "failure": None})
    return next_turn(state)


def run_forked(state: RunState, event: ev.RunForked) -> Step:
    """The pending request is replaced by one of this run's own; a finished run goes on."""
    again = state.phase is not Phase.FINISHED
    state = state.model_copy(
        update={
            "running_since": state.now,
            "turn": state.turn - 1 if again else state.turn,
            "pending": (),
            "failure": None,
            "reason": None,
            "status": None,
            "deliverable": None,
        }
    )
    return next_turn(with_message(state, user(event.steer)) if event.steer else state)


def cancel_requested(state: RunState, event: ev.CancelRequested) -> Step:
    """Open calls are answered ``cancelled``, so that the history stays paired."""
    if state.calls:
        calls = tuple(
            c if c.status else _answered(c, "cancelled", event.content) for c in state.calls
        )
        state = _with_results(state.model_copy(update={"calls": calls}))
    return finish(state, "cancelled")


def run_finished(state: RunState, event: ev.RunFinished) -> Step:
    """The end."""
    state = _settle(state, event.intent)
    return state.model_copy(
        update={
            "phase": Phase.FINISHED,
            "status": event.status,
            "deliverable": event.deliverable,
        }
    ), ()


# --- the model's reply ------------------------------------------------------------------------


def model_responded(state: RunState, event: ev.ModelResponded) -> Step:
    """A reply has calls for the gate, or a text to be checked, or is a refusal."""
    state = _settle(state, event.intent)
    blocks = with_unique_ids(event.blocks, state.call_ids, state.turn)
    message = Message(role="assistant", blocks=blocks)
    cost = state.cost_micros
    if event.cost_micros is not None:
        cost = (cost or 0) + event.cost_micros
    state = state.model_copy(
        update={
            "usage": state.usage + event.usage,
            "cost_micros": cost,
            "stop": event.stop,
            "call_ids": state.call_ids | {call.id for call in message.calls},
            "last_text": message.text or state.last_text,
        }
    )
    if any(not isinstance(block, ReasoningBlock) for block in blocks):
        state = with_message(state, message)
    if event.usage.input_tokens:  # the provider's own count beats our estimate
        context = event.usage.input_tokens + event.usage.output_tokens
        state = state.model_copy(update={"context_tokens": context})
    if message.calls:
        calls = tuple(CallState(id=call.id) for call in message.calls)
        intent = JudgeCalls(n=state.next_intent, turn=state.turn)
        return _emit(state, intent, phase=Phase.JUDGING, calls=calls)
    if event.stop == "refusal":
        return finish(state, "refused")
    check = CheckReply(n=state.next_intent, turn=state.turn)
    return _emit(state, check, phase=Phase.CHECKING)


def model_failed(state: RunState, event: ev.ModelFailed) -> Step:
    """What an operator can mend stalls the run; the rest ends it."""
    state = _settle(state, event.intent).model_copy(update={"failure": event.code})
    if event.code in RESUMABLE_FAILURES:
        return state.model_copy(update={"phase": Phase.STALLED}), ()
    return finish(state, "model_failed")


def reply_checked(state: RunState, event: ev.ReplyChecked) -> Step:
    """Accept the text, or send it back with what is wrong while there are rounds left."""
    cut = state.stop == "max_tokens" if event.revised else state.narrative_cut
    state = _settle(state, event.intent).model_copy(
        update={
            "narrative": event.narrative,
            "narrative_cut": cut,
            "findings": event.findings,
        }
    )
    if event.request is None:
        return finish(state, "output_limit" if cut else "done")
    if state.repairs >= state.given.limits.repairs:
        return finish(state, "repair_limit" if state.last_text else "empty_reply")
    state = state.model_copy(update={"repairs": state.repairs + 1})
    return next_turn(with_message(state, user(event.request)))


# --- its calls --------------------------------------------------------------------------------


def calls_judged(state: RunState, event: ev.CallsJudged) -> Step:
    """Refused calls are answered at once; the others become intents, all in one commit."""
    state = _settle(state, event.intent)
    if [c.id for c in state.calls] != [v.call_id for v in event.verdicts]:
        raise InvariantError("The verdicts are not those of the turn's calls.")
    calls: list[CallState] = []
    intents: list[Intent] = []
    n = state.next_intent
    for call, verdict in zip(state.calls, event.verdicts, strict=True):
        call = call.model_copy(update={"verdict": verdict})
        if verdict.verdict == "allow":
            intents.append(_call_tool(n + len(intents), verdict, state))
        elif verdict.verdict == "ask":
            intents.append(_ask(n + len(intents), verdict))
        else:
            call = _answered(call, verdict.verdict, verdict.content)
        calls.append(call)
    state, emitted = _emit(state, *intents, phase=Phase.WORKING, calls=tuple(calls))
    return (state, emitted) if emitted else _if_settled(state)


def approval_answered(state: RunState, event: ev.ApprovalAnswered) -> Step:
    """A yes performs the call, a no answers it."""
    call = _call_of(state, event.intent)
    state = _settle(state, event.intent)
    if call.verdict is None:
        raise InvariantError(f"The call {call.id} was never judged.")
    if event.approved:
        return _emit(state, _call_tool(state.next_intent, call.verdict, state))
    return _if_settled(_with_call(state, _answered(call, "denied", event.content)))


def tool_returned(state: RunState, event: ev.ToolReturned) -> Step:
    """When the last call of the turn is answered, the model reads all answers."""
    call = _answered(_call_of(state, event.intent), event.status, event.content)
    if event.status == "ok":
        call = call.model_copy(update={"artifact": event.artifact})
    return _if_settled(_with_call(labelled(_settle(state, event.intent), call), call))


def _if_settled(state: RunState) -> Step:
    if any(call.status is None for call in state.calls):
        return state, ()
    state = _with_results(state)
    return finish(state, "refused") if state.stop == "refusal" else next_turn(state)


def _with_results(state: RunState) -> RunState:
    """Close the turn: its answers and artifacts count in call order, whichever came first."""
    made = state.artifacts
    for call in state.calls:
        if call.artifact is not None:
            made = with_artifact(made, call.artifact)
    state = with_message(state, results_of(state.calls))
    return state.model_copy(update={"artifacts": made, "calls": ()})


def _call_tool(n: int, verdict: Verdict, state: RunState) -> CallTool:
    tool = state.given.tools().get(verdict.tool)
    if tool is None or verdict.arguments is None:
        raise InvariantError(f"The gate let an unreadable call of {verdict.tool!r} through.")
    return CallTool(
        n=n,
        call_id=verdict.call_id,
        tool=verdict.tool,
        arguments=verdict.arguments,
        effect=tool.effect,
    )


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


# --- bookkeeping ------------------------------------------------------------------------------


def _emit(state: RunState, *intents: Intent, **changes: object) -> Step:
    """Add intents to the pending ones, with whatever else changes in the state."""
    pending = tuple(Pending(n=i.n, type=i.type, call_id=getattr(i, "call_id", "")) for i in intents)
    state = state.model_copy(
        update={
            **changes,
            "pending": (*state.pending, *pending),
            "next_intent": state.next_intent + len(intents),
        }
    )
    return state, intents


def _settle(state: RunState, n: int) -> RunState:
    """Take an intent off the pending ones: its receipt has come."""
    rest = tuple(p for p in state.pending if p.n != n)
    if len(rest) == len(state.pending):
        raise InvariantError(f"Intent {n} is not pending.")
    return state.model_copy(update={"pending": rest})


def _call_of(state: RunState, n: int) -> CallState:
    call_id = next((p.call_id for p in state.pending if p.n == n), None)
    call = next((c for c in state.calls if c.id == call_id), None)
    if call is None:
        raise InvariantError(f"Intent {n} belongs to no call of this turn.")
    return call


def _with_call(state: RunState, call: CallState) -> RunState:
    calls = tuple(call if c.id == call.id else c for c in state.calls)
    return state.model_copy(update={"calls": calls})


def _answered(call: CallState, status: CallStatus, content: str) -> CallState:
    return call.model_copy(update={"status": status, "content": content})

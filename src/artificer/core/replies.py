"""The handling of a model's reply."""

from __future__ import annotations

from artificer.core import events as ev
from artificer.core import reports
from artificer.core.call_ids import with_ids, with_unique_ids
from artificer.core.context import may_compact
from artificer.core.conversation import with_message
from artificer.core.demands import again
from artificer.core.fallback import fallen_back, falls_back
from artificer.core.intents import CheckReply, JudgeCalls
from artificer.core.measure import context_after
from artificer.core.rules import keeps_reports, since
from artificer.core.state import CallState, RunPhase, RunState
from artificer.core.steps import Step, emit, settle
from artificer.core.turns import finish, next_turn, overflowed
from artificer.values.blocks import Message, ReasoningBlock, user
from artificer.values.model import RESUMABLE_FAILURES
from artificer.values.refusal import not_ok


def model_responded(state: RunState, event: ev.ModelResponded) -> Step:
    """A reply has calls for the gate, or a text to be checked, or is a refusal."""
    state = settle(state, event.intent)
    blocks = with_unique_ids(event.blocks, state.call_ids, state.turn)
    message = Message(role="assistant", blocks=blocks)
    cost = state.cost_micros
    if event.cost_micros is not None:
        cost = (cost or 0) + event.cost_micros
    spec, called = state.run_spec, message.calls
    if called and keeps_reports(spec):
        state = reports.called(state, message)
    changes: dict[str, object] = {
        "usage": state.usage + event.usage,
        "cost_micros": cost,
        "stop": event.stop,
        "last_text": message.text or state.last_text,
    }
    if event.usage.input_tokens:  # the provider's own count beats our estimate
        changes["context_tokens"] = context_after(spec, event.usage, message)
    if called:
        changes["call_ids"] = with_ids(state.call_ids, [call.id for call in called])
    if called or any(type(block) is not ReasoningBlock for block in blocks):
        state = with_message(state, message, **changes)
    else:
        state = state.replace(**changes)
    if called:
        calls = tuple([CallState(id=call.id) for call in called])
        intent = JudgeCalls(n=state.next_intent, turn=state.turn)
        return emit(state, intent, phase=RunPhase.JUDGING, calls=calls)
    if event.stop == "refusal":
        return finish(state, "refused")
    check = CheckReply(n=state.next_intent, turn=state.turn)
    return emit(state, check, phase=RunPhase.CHECKING)


def model_failed(state: RunState, event: ev.ModelFailed) -> Step:
    """Ask the next model where there is one and it may do better."""
    state = settle(state, event.intent)
    if falls_back(state, event.code):
        return next_turn(fallen_back(state, event.code))
    return _unanswered(state.replace(failure=event.code), event)


def _unanswered(state: RunState, event: ev.ModelFailed) -> Step:
    """Stall the run if an operator can fix the error, cut a request too long, or end the run."""
    if event.code in RESUMABLE_FAILURES and state.hold != "interrupt":
        return state.replace(phase=RunPhase.STALLED), ()
    if event.code == "out_of_time":
        return finish(state.replace(failure=None), "wall_limit")
    if event.code == "token_limit" or event.code == "cost_limit":
        return finish(state.replace(failure=None), event.code)
    if event.code == "invalid_call" and state.repairs < state.run_spec.limits.repairs:
        return _again(state, event)
    if event.code == "context_overflow" and may_compact(state.run_spec):
        return overflowed(state)
    return finish(state, "model_failed")


def _again(state: RunState, event: ev.ModelFailed) -> Step:
    """The provider read the model's call and refused it: the model learns that, and tries again."""
    detail = (
        "Your tool call was not run, because the server could not accept it. Write it again, with "
        f"arguments that fit the tool's schema. The server said: {event.message}"
    )
    note = not_ok("invalid", detail)
    notes, repairs = (*state.notes, note), state.repairs + 1
    if since(state.run_spec, 4):
        state = again(state)
    return next_turn(state.replace(notes=notes, repairs=repairs, failure=None))


def reply_checked(state: RunState, event: ev.ReplyChecked) -> Step:
    """Accept the text, or send it back with what is wrong while there are rounds left."""
    if keeps_reports(state.run_spec):
        return reports.report_checked(state, event)
    cut = state.stop == "max_tokens" if event.revised else state.narrative_cut
    state = settle(state, event.intent).replace(
        narrative=event.narrative, narrative_cut=cut, findings=event.findings
    )
    if event.request is None and state.notes and state.hold is None:
        # There is a newer message of a person: the answer to that replaces this one.
        return next_turn(state.replace(narrative=None, findings=()))
    if event.request is None:
        return finish(state, "output_limit" if cut else "done")
    if state.repairs >= state.run_spec.limits.repairs:
        return finish(state, "repair_limit" if state.last_text else "empty_reply")
    state = state.replace(repairs=state.repairs + 1)
    return next_turn(with_message(state, user(event.request)))

"""Turns: asking for the next reply, or ending the run."""

from __future__ import annotations

from artificer.core.budget import reply_tokens
from artificer.core.context import cannot_fit, compaction, pressed
from artificer.core.conversation import with_message, with_words
from artificer.core.intents import Finish, FinishReason, Generate
from artificer.core.state import RunPhase, RunState
from artificer.core.steps import Step, emit
from artificer.values.blocks import user


def next_turn(state: RunState) -> Step:
    """Ask for the next reply, unless someone holds the run or a limit is reached."""
    if state.hold == "interrupt":
        return finish(state, "interrupted")
    if state.hold == "pause":
        return state.replace(phase=RunPhase.PAUSED), ()
    state = _with_notes(state)
    spec = state.run_spec
    over = _over(state)
    if over is None and pressed(state) and (intent := compaction(state, "limit")):
        return emit(state, intent, phase=RunPhase.COMPACTING, turn=intent.turn)
    room = reply_tokens(spec, state.usage, state.cost_micros or 0, state.context_tokens)
    if isinstance(room, str):
        return finish(state, room if over in (None, "wall_limit") else over)
    if over is not None:
        return finish(state, over)
    turn = state.turn + 1
    request = Generate(
        n=state.next_intent,
        turn=turn,
        tool_choice=state.choice(turn),
        history=state.history_digest,
        messages=len(state.history),
        since=state.window.start,
    )
    shorter = room if room < spec.limits.max_tokens else None
    return emit(state, request, phase=RunPhase.GENERATING, turn=turn, reply_tokens=shorter)


def _over(state: RunState) -> FinishReason | None:
    """The limit that the run has reached by itself, whatever the next reply would be."""
    limits = state.run_spec.limits
    if limits.repeats is not None and state.repeats.times >= limits.repeats:
        return "stuck"
    if state.turn - state.turns_before >= limits.turns:
        return "turn_limit"
    if limits.tool_ms is not None and state.tool_ms >= limits.tool_ms:
        return "tool_time_limit"
    if limits.output_chars is not None and state.output_chars >= limits.output_chars:
        return "tool_output_limit"
    if cannot_fit(state):
        return "context_limit"
    return "wall_limit" if state.time_left <= 0 else None


def overflowed(state: RunState) -> Step:
    """The provider takes no more: move the window, and ask again for the same turn."""
    state = state.replace(turn=state.turn - 1)
    if state.hold is not None:
        return next_turn(state)
    intent = compaction(state, "overflow")
    if intent is None:
        return finish(state, "context_limit")
    return emit(state, intent, phase=RunPhase.COMPACTING, turn=intent.turn)


def _with_notes(state: RunState) -> RunState:
    """Add the messages that people have sent meanwhile, before the next request.

    So is what they have ticked off, and a note if the model repeats itself.
    """
    if state.repeats.note:
        repeats = state.repeats.replace(note="")
        state = with_message(state, user(state.repeats.note), repeats=repeats)
    if state.ticks and any(tick.note for tick in state.ticks):
        words = "\n".join(tick.note for tick in state.ticks if tick.note)
        ticks = tuple(tick.replace(note="") for tick in state.ticks)
        state = with_message(state, user(words), ticks=ticks)
    if not state.notes:
        return state
    words, attachments = "\n\n".join(state.notes), state.note_attachments
    if state.steered or attachments:
        state = with_words(state, words, attachments)
    else:
        state = with_message(state, user(words))
    return state.replace(notes=(), note_attachments=(), steered=False, mending=False)


def finish(state: RunState, reason: FinishReason) -> Step:
    """Deliver what there is."""
    intent = Finish(n=state.next_intent, reason=reason)
    state = state.replace(pending=(), hold=None, waits=())
    return emit(state, intent, phase=RunPhase.FINISHING, reason=reason)

"""The life of a run: it starts, pauses and resumes, receives signals, and ends."""

from __future__ import annotations

from artificer.artifacts.ticks import ItemTick, revision_of, with_tick
from artificer.core import builds, reports
from artificer.core import events as ev
from artificer.core.calls import close_turn, dispatch
from artificer.core.conversation import with_history, with_message, with_words
from artificer.core.intents import CheckReply
from artificer.core.repeats import Repeats
from artificer.core.rules import check_known, keeps_reports, since
from artificer.core.state import RunPhase, RunState
from artificer.core.steps import Step, answered, emit, is_pending, settle
from artificer.core.turns import finish, next_turn
from artificer.errors import InvariantError
from artificer.values.blocks import user


def prompt_received(state: RunState, event: ev.PromptReceived) -> Step:
    """The prompt opens the conversation and asks for the first reply."""
    spec = event.spec
    check_known(spec)
    state = state.replace(
        spec=spec, spec_digest=spec.digest, running_since=event.at, context_tokens=spec.fixed_tokens
    )
    members: dict[str, object] = {}
    if spec.history:
        state, members = with_history(state, spec), {"said": len(spec.history)}
    if spec.taint is not None:
        state = state.replace(taint=spec.taint)
    state = with_message(state, user(spec.prompt, spec.attachments), **members)
    return builds.begin(state, spec) if spec.kind == "build" else next_turn(state)


def run_resumed(state: RunState, event: ev.RunResumed) -> Step:
    """The wall clock restarts; a stalled run repeats its request, a paused one continues.

    A reply whose check has no verdict is checked again, and a call that waits performed again.
    """
    hold = None if state.hold == "pause" else state.hold
    state = state.replace(running_since=state.now, hold=hold, waits=())
    if state.phase is RunPhase.STALLED:
        state = state.replace(turn=state.turn - 1, failure=None)
        return next_turn(state)
    if state.phase is RunPhase.CHECKING:
        check = CheckReply(n=state.next_intent, turn=state.turn)
        return emit(state.replace(pending=()), check)
    if state.phase is RunPhase.PAUSED and not state.calls:
        return next_turn(state)
    return dispatch(state) if state.phase in (RunPhase.PAUSED, RunPhase.WORKING) else (state, ())


def run_forked(state: RunState, event: ev.RunForked) -> Step:
    """The pending request is replaced by one of this run's own; a finished run continues."""
    again = state.phase in (RunPhase.GENERATING, RunPhase.STALLED)
    is_steered = bool(event.steer or event.attachments)
    if is_steered or not again:
        state = reports.reopened(state)
    model = state.run_spec.full_name
    state = state.replace(
        failed_models=tuple([failed for failed in state.failed_models if failed.model != model]),
        running_since=state.now,
        turn=state.turn - 1 if again else state.turn,
        pending=(),
        failure=None,
        reason=None,
        status=None,
        deliverable=None,
        letters=0,
        follow_ups=(),
        follow_up_attachments=(),
        hold=None,
        repeats=Repeats(),
    )
    return next_turn(with_words(state, event.steer, event.attachments) if is_steered else state)


def run_finished(state: RunState, event: ev.RunFinished) -> Step:
    """The end, unless someone has more to ask."""
    state = settle(state, event.intent)
    state = state.replace(
        phase=RunPhase.FINISHED, status=event.status, deliverable=event.deliverable
    )
    return _follow_up(state) if state.follow_ups else (state, ())


def run_pruned(state: RunState, event: ev.RunPruned) -> Step:
    """Remove the content of the run; the fact that it existed stays."""
    return state, ()


# --- signals from people ----------------------------------------------------------------------


def steered(state: RunState, event: ev.Steered) -> Step:
    """Keep the text until the model's next request, and send it there."""
    state = _noted(state, event, event.text)
    if event.attachments:
        state = state.replace(note_attachments=(*state.note_attachments, *event.attachments))
    return state.replace(steered=since(state.run_spec, 2)), ()


def pause_requested(state: RunState, event: ev.PauseRequested) -> Step:
    """Nothing new begins; what is in progress is recorded when it ends."""
    return _held(state.replace(letters=event.letter, hold="pause"))


def interrupt_requested(state: RunState, event: ev.InterruptRequested) -> Step:
    """Nothing new begins, and when all is quiet the run ends."""
    state = state.replace(letters=event.letter, hold="interrupt", hold_note=event.content)
    return _held(state)


def cancel_requested(state: RunState, event: ev.CancelRequested) -> Step:
    """Open calls are answered ``cancelled``, so that the history stays paired."""
    state = state.replace(
        letters=max(state.letters, event.letter), follow_ups=(), follow_up_attachments=()
    )
    if state.calls:
        calls = tuple(
            c if c.status else answered(c, "cancelled", event.content) for c in state.calls
        )
        state = close_turn(state.replace(calls=calls))
    return finish(state, "cancelled")


def follow_up_received(state: RunState, event: ev.FollowUpReceived) -> Step:
    """More to ask, when this is done."""
    before, attached = len(state.follow_ups), state.follow_up_attachments
    if event.attachments or attached:
        attached = (*attached, *[()] * (before - len(attached)), event.attachments)
    state = state.replace(
        letters=event.letter,
        follow_ups=(*state.follow_ups, event.text),
        follow_up_attachments=attached,
    )
    return _follow_up(state) if state.phase is RunPhase.FINISHED else (state, ())


def doubt_resolved(state: RunState, event: ev.DoubtResolved) -> Step:
    """A person, or its late result, tells whether a call had happened; the model is informed."""
    rest = tuple(doubt for doubt in state.doubts if doubt.call_id != event.call_id)
    return _noted(state.replace(doubts=rest), event, event.content), ()


def checklist_ticked(state: RunState, event: ev.ChecklistTicked) -> Step:
    """Keep the tick. It begins nothing: the model reads of it when there is a next request."""
    tick = ItemTick(
        checklist=event.checklist,
        item=event.item,
        label=event.label,
        checked=event.checked,
        by=event.by,
        at=event.at,
        revision=revision_of(state.ticks, event.checklist) + 1,
        note=event.content,
    )
    ticks = with_tick(state.ticks, tick)
    return state.replace(letters=max(state.letters, event.letter), ticks=ticks), ()


def call_probed(state: RunState, event: ev.CallProbed) -> Step:
    """It is known now, or known to be unknowable; what follows from it comes by itself."""
    if not is_pending(state, event.intent):
        raise InvariantError(f"Intent {event.intent} is not pending.")
    return state, ()


def receipt_ignored(state: RunState, event: ev.ReceiptIgnored) -> Step:
    """It came too late and changes nothing."""
    return state.replace(letters=max(state.letters, event.letter)), ()


def _noted(state: RunState, event: ev.Steered | ev.DoubtResolved, note: str) -> RunState:
    return state.replace(
        letters=max(state.letters, event.letter), notes=(*state.notes, note), repeats=Repeats()
    )


def _held(state: RunState) -> Step:
    if state.phase is RunPhase.STALLED:
        return finish(state, "interrupted") if state.hold == "interrupt" else (state, ())
    if state.calls and state.phase is not RunPhase.GENERATING:
        return dispatch(state)
    return next_turn(state) if state.phase is RunPhase.PAUSED else (state, ())


def _follow_up(state: RunState) -> Step:
    """The conversation continues, with the limits of a new run; what was made stays."""
    prompt, *rest = state.follow_ups
    attachments, *others = state.follow_up_attachments or ((),)
    kept = state.narrative if keeps_reports(state.run_spec) else None
    cut = kept is not None and state.narrative_cut
    state = reports.reopened(state).replace(
        follow_ups=tuple(rest),
        follow_up_attachments=tuple(others) if any(others) else (),
        turns_before=state.turn,
        running_since=state.now,
        repeats=Repeats(),
        repairs=0,
        last_text="",
        narrative=kept,
        narrative_cut=cut,
        findings=(),
        stop=None,
        failure=None,
        reason=None,
        status=None,
        deliverable=None,
    )
    return next_turn(with_words(state, prompt, attachments))

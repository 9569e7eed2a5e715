"""Sending a signal to a run and reporting its effect."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from artificer.cli.terminal.console import complain, note, one_line
from artificer.cli.terminal.exits import Exit
from artificer.core.events import ReceiptIgnored
from artificer.core.record import Line, events_of
from artificer.core.signals import AnswerCall, Resolve, Signal, read_signal
from artificer.core.state import RunState
from artificer.errors import OperatorError
from artificer.ports import MAX_SIGNALS, Attachment
from artificer.runtime.explaining.resuming import resume_command
from artificer.world import World

CHECKS, PAUSE_S = 8, 0.25
"""How often, and how many seconds apart, to check whether a signal was received."""

_NAME = 40
"""Characters of a person's name that are shown."""


async def send_signal(
    world: World,
    run_id: str,
    signal: Signal,
    attachments: Sequence[Attachment] = (),
    *,
    resumes: str = "",
) -> Exit:
    """Send a signal and wait a moment for the process that executes the run to receive it.

    ``resumes`` is the run to be resumed then, if it is another one. An answer about a call is sent
    once, because the first one counts; of two at the same instant, the second command says so.

    An answer that comes after another one has no effect, which is said, with Exit.WRONG.
    Raises OperatorError for a run that has ended, except for what became of an uncertain call.
    """
    state = (await world.get(run_id)).state
    if earlier := await _answered_before(world, run_id, state.letters, signal):
        return await _say_earlier(world, state, run_id, earlier, signal, resumes=resumes)
    if state.status is not None and not isinstance(signal, Resolve):
        more = "build" if state.build is not None else f"follow-up {run_id}"
        raise OperatorError(
            f"Run {run_id} has ended: {state.status}.", hint=f"To continue: artificer {more}"
        )
    number = await world.send(run_id, signal, attachments=attachments)
    if earlier := await _answered_before(world, run_id, state.letters, signal, number):
        return await _say_earlier(
            world, state, run_id, earlier, signal, resumes=resumes, was_sent=True
        )
    if state.status is not None:
        note(f"sent to run {run_id}; recorded by: artificer resume {run_id}")
        note("the model reads it with the next follow-up")
        return Exit.OK
    for _ in range(CHECKS):
        history = await world.archive.history(run_id)
        if history.run.state.letters >= number:
            return _received(history.lines, number)
        await asyncio.sleep(PAUSE_S)
    note(f"sent to run {run_id}; {await _goes_on(world, resumes or run_id)}")
    return Exit.OK


async def _answered_before(
    world: World, run_id: str, after: int, signal: Signal, number: int = MAX_SIGNALS + 1
) -> AnswerCall | Resolve | None:
    """Return the first answer about the same call after the last signal that the run received, and
    before the signal of a number."""
    if isinstance(signal, (AnswerCall, Resolve)):
        for n, body in await world.storage.signals.read(run_id, after):
            found = read_signal(body) if n < number else None
            if isinstance(found, (AnswerCall, Resolve)) and _call_of(found) == _call_of(signal):
                return found
    return None


async def _say_earlier(
    world: World,
    state: RunState,
    run_id: str,
    earlier: AnswerCall | Resolve,
    signal: Signal,
    *,
    resumes: str,
    was_sent: bool = False,
) -> Exit:
    """Say that the answer that counts is an earlier one, with Exit.WRONG if it differs."""
    if _answer_of(earlier) != _answer_of(signal):
        has_ended = state.status is not None
        more = f"To tell the model more: artificer follow-up {run_id}"
        end = f"To end the run at once: artificer cancel {run_id}"
        complain(
            f"Run {run_id} has another answer about this call already: "
            f"{_answer_of(earlier)}{_from(earlier)}. The first one counts.",
            f"{'Yours has no effect' if was_sent else 'Nothing was sent'}. "
            f"{more if has_ended else end}",
        )
        return Exit.WRONG
    goes_on = await _goes_on(world, resumes or run_id)
    note(f"run {run_id} has this answer already{_from(earlier)}; {goes_on}")
    return Exit.OK


def _call_of(signal: AnswerCall | Resolve) -> str:
    return signal.call if isinstance(signal, AnswerCall) else signal.call_id


def _answer_of(signal: Signal) -> str:
    if isinstance(signal, AnswerCall):
        return "approved" if signal.approved else "denied"
    return "executed" if isinstance(signal, Resolve) and signal.happened else "not executed"


def _from(signal: Signal) -> str:
    return f", from {one_line(signal.by, _NAME)}" if signal.by else ""


async def _goes_on(world: World, run_id: str) -> str:
    """Return what a person does if the run does not go on by itself."""
    run = await world.get(run_id)
    command = resume_command(run.id, run.state.run_spec)
    return f"if no process executes it: {command}" if command else "now start its program again"


def _received(lines: Sequence[Line], number: int) -> Exit:
    events = events_of(lines)
    ignored = [e for e in events if isinstance(e, ReceiptIgnored) and e.letter == number]
    if ignored:
        note(f"received, without effect: {ignored[0].reason}", "bad")
        return Exit.WRONG
    note("received", "good")
    return Exit.OK

"""Sending a signal to a run and reporting its effect."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from artificer.cli.terminal.console import note, one_line
from artificer.cli.terminal.exits import Exit
from artificer.core.events import ReceiptIgnored
from artificer.core.record import Line, events_of
from artificer.core.signals import AnswerCall, Resolve, Signal, read_signal
from artificer.errors import OperatorError
from artificer.ports import Attachment
from artificer.runtime.resuming import resume_command
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
    once, because the first one counts.

    Raises OperatorError for a run that has ended, except for what became of an uncertain call, and
    for an answer if another one was sent before.
    """
    state = (await world.get(run_id)).state
    if earlier := await _answered_before(world, run_id, state.letters, signal):
        _require_same(run_id, earlier, signal, has_ended=state.status is not None)
        goes_on = await _goes_on(world, resumes or run_id)
        note(f"run {run_id} has this answer already{_from(earlier)}; {goes_on}")
        return Exit.OK
    if state.status is not None and isinstance(signal, Resolve):
        await world.send(run_id, signal)
        note(f"sent to run {run_id}; recorded by: artificer resume {run_id}")
        note("the model reads it with the next follow-up")
        return Exit.OK
    if state.status is not None:
        more = "build" if state.build is not None else f"follow-up {run_id}"
        raise OperatorError(
            f"Run {run_id} has ended: {state.status}.", hint=f"To continue: artificer {more}"
        )
    number = await world.send(run_id, signal, attachments=attachments)
    for _ in range(CHECKS):
        history = await world.archive.history(run_id)
        if history.run.state.letters >= number:
            return _received(history.lines, number)
        await asyncio.sleep(PAUSE_S)
    note(f"sent to run {run_id}; {await _goes_on(world, resumes or run_id)}")
    return Exit.OK


async def _answered_before(
    world: World, run_id: str, after: int, signal: Signal
) -> AnswerCall | Resolve | None:
    """Return the first answer about the same call after the last signal that the run received."""
    if isinstance(signal, AnswerCall | Resolve):
        for _, body in await world.storage.signals.read(run_id, after):
            found = read_signal(body)
            if isinstance(found, AnswerCall | Resolve) and _call_of(found) == _call_of(signal):
                return found
    return None


def _require_same(
    run_id: str, earlier: AnswerCall | Resolve, signal: Signal, *, has_ended: bool
) -> None:
    """Raise OperatorError if the answer that counts is another one."""
    if _answer_of(earlier) != _answer_of(signal):
        more = f"To tell the model more: artificer follow-up {run_id}"
        end = f"To end the run at once: artificer cancel {run_id}"
        raise OperatorError(
            f"Run {run_id} has another answer about this call already: "
            f"{_answer_of(earlier)}{_from(earlier)}. The first one counts.",
            hint=f"Nothing was sent. {more if has_ended else end}",
        )


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

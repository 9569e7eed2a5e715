"""Sending a signal to a run and reporting its effect."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.core.events import ReceiptIgnored
from artificer.core.record import EventLine
from artificer.core.signals import Resolve, Signal
from artificer.errors import OperatorError
from artificer.ports import Attachment
from artificer.runtime.resuming import resume_command
from artificer.world import World

CHECKS, PAUSE_S = 8, 0.25
"""How often, and how many seconds apart, to check whether a signal was received."""


async def send_signal(
    world: World,
    run_id: str,
    signal: Signal,
    attachments: Sequence[Attachment] = (),
    *,
    resumes: str = "",
) -> Exit:
    """Send a signal and wait a moment for the process that executes the run to receive it.

    ``resumes`` is the run to be resumed then, if it is another one.

    Raises OperatorError for a run that has ended, except for what became of an uncertain call.
    """
    state = (await world.get(run_id)).state
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
    resumed = await world.get(resumes or run_id)
    command = resume_command(resumed.id, resumed.state.run_spec)
    goes_on = f"if no process executes it: {command}" if command else "now start its program again"
    note(f"sent to run {run_id}; {goes_on}")
    return Exit.OK


def _received(lines: tuple[object, ...], number: int) -> Exit:
    events = [line.event for line in lines if isinstance(line, EventLine)]
    ignored = [e for e in events if isinstance(e, ReceiptIgnored) and e.letter == number]
    if ignored:
        note(f"received, without effect: {ignored[0].reason}", "bad")
        return Exit.WRONG
    note("received", "good")
    return Exit.OK

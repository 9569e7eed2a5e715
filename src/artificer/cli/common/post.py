"""Leaving a letter for a run, and saying what became of it."""

from __future__ import annotations

import asyncio

from artificer.archive import Archive
from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.core.events import ReceiptIgnored
from artificer.core.letters import Letter
from artificer.core.record import EventLine
from artificer.errors import OperatorError

LOOKS, PAUSE_S = 8, 0.25
"""How often, and how many seconds apart, to look whether a letter was taken."""


async def leave(world: Archive, run_id: str, letter: Letter) -> Exit:
    """Send a letter and wait a moment for whoever drives the run to take it.

    Raises OperatorError for a run that has ended.
    """
    state = (await world.get(run_id)).run.state
    if state.status is not None:
        more = "build" if state.build is not None else f"follow-up {run_id}"
        raise OperatorError(
            f"Run {run_id} has ended: {state.status}.", hint=f"To ask for more: artificer {more}"
        )
    number = await world.send(run_id, letter)
    for _ in range(LOOKS):
        history = await world.get(run_id)
        if history.run.state.letters >= number:
            return _taken(history.lines, number)
        await asyncio.sleep(PAUSE_S)
    note(f"left for run {run_id}; if nobody drives it: artificer resume {run_id}")
    return Exit.OK


def _taken(lines: tuple[object, ...], number: int) -> Exit:
    events = [line.event for line in lines if isinstance(line, EventLine)]
    ignored = [e for e in events if isinstance(e, ReceiptIgnored) and e.letter == number]
    if ignored:
        note(f"it changed nothing: {ignored[0].reason}", "bad")
        return Exit.WRONG
    note("taken", "good")
    return Exit.OK

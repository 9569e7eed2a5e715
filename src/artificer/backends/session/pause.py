"""Waiting until a program on a terminal falls silent, and reporting why."""

from __future__ import annotations

from enum import Enum

from artificer.backends.session.spec.prompts import Prompts
from artificer.backends.session.spec.terminal_text import last_line, plain
from artificer.backends.session.terminal import SETTLE, Terminal


class Silence(Enum):
    """Why a program fell silent."""

    READY = "at its prompt"
    ASKING = "in an unfinished line that is not its prompt"
    ENDED = "it has ended"


async def next_pause(terminal: Terminal, prompts: Prompts, wait: float, *, asking: bool) -> Silence:
    """Wait until the program is silent, for a reason.

    ``wait`` is the silence in seconds after which a program without a prompt has said all. With
    ``asking``, an unfinished line that stands for as long is a reason too.
    """
    patient = not prompts.own
    silence: float | None = wait if patient else SETTLE
    while not terminal.has_ended:
        if not await terminal.is_silent(silence):
            silence = wait if patient else SETTLE
            continue
        if prompts.opens is not None:
            prompts.read(plain(terminal.written.encode()))
        last = last_line(plain(terminal.last))
        if prompts.take(last):
            return Silence.READY
        if last and asking and silence == wait:
            return Silence.ASKING
        silence = wait if last and asking else None
    await terminal.drain()
    return Silence.ENDED

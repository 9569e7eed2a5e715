"""Asking the user at the terminal to approve a call."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import sys
import termios

from artificer.cli.terminal.console import clean, styled
from artificer.cli.terminal.screen import Screen
from artificer.ports import Answer, Approver, Question
from artificer.runtime.approvers import Refuser


class TerminalApprover:
    """Asks on stderr and reads a line from stdin (ports.Approver). One question at a time.

    ``keyboard`` is the descriptor of another terminal to read from.
    """

    def __init__(self, screen: Screen, keyboard: int | None = None) -> None:
        self._screen = screen
        self._keyboard = keyboard
        self._turn = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """Show the exact call and wait for yes or no. Only ``y`` and ``yes`` approve it."""
        async with self._turn:
            with self._screen.paused():
                keyboard = sys.stdin.fileno() if self._keyboard is None else self._keyboard
                _forget_typed(keyboard)
                _show(question)
                answer = (await read_line(keyboard)).strip().lower()
        approved = answer in ("y", "yes")
        return Answer(
            approved, by=user_name(), reason="" if approved else "Declined at the terminal."
        )


def approver_for(screen: Screen, *, unattended: bool = False) -> Approver | None:
    """Return an approver at the terminal, or one that denies all calls if unattended.

    Return None without a terminal: calls that need approval then wait for ``artificer approve``.
    """
    if unattended:
        return Refuser()
    return TerminalApprover(screen) if sys.stdin.isatty() and sys.stderr.isatty() else None


def _show(question: Question) -> None:
    """Show the complete call: the approval is for this call and nothing else."""
    lines = [
        styled(f"\nApprove {clean(question.tool)}?", "strong", sys.stderr),
        f"  arguments  {clean(question.arguments)}",
        f"  reason     {clean(question.reason) or 'the policy requires approval of this tool'}",
        f"  call       {question.digest}",
        "  [y/N] ",
    ]
    sys.stderr.write("\n".join(lines))
    sys.stderr.flush()


def _forget_typed(keyboard: int) -> None:
    """Drop what was typed so far: nobody has seen the question that it would answer."""
    with contextlib.suppress(termios.error):  # no terminal, or one that has been hung up
        termios.tcflush(keyboard, termios.TCIFLUSH)


async def read_line(keyboard: int | None = None) -> str:
    """Read a line without a thread, which could not be ended by Ctrl-C.

    ``keyboard`` is where it is typed (default: stdin).
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    descriptor = sys.stdin.fileno() if keyboard is None else keyboard
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    # A terminal hands over whole lines; past any buffer, so that readiness stays true.
    return os.read(descriptor, 4096).decode("utf-8", "replace")


def user_name() -> str:
    """Return the name of the user who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"

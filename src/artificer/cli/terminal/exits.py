"""Exit codes: what a script may rely on. This file is imported by ``--help``: keep it light."""

from __future__ import annotations

import signal
from enum import IntEnum

from artificer.errors import ArtificerError, TamperedError, Turn


class Exit(IntEnum):
    """How a command ended. The words of each stand in :data:`MEANINGS`."""

    OK = 0
    WRONG = 1
    USAGE = 2
    OPERATOR = 3
    AUTHOR = 4
    INCOMPLETE = 5
    STALLED = 6
    WAITING = 7
    BUG = 70
    INTERRUPTED = 130
    PIPE = 141
    TERMINATED = 143


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done; of a run: it is completed",
    Exit.WRONG: "the check found something wrong: a divergence, a changed byte, a silent model",
    Exit.USAGE: "the command line is wrong",
    Exit.OPERATOR: "your turn: a setting, a file, an extra, a run that is not there",
    Exit.AUTHOR: "the tool author's turn: a manifest or a tool cannot be used",
    Exit.INCOMPLETE: "the run ended partial, failed or cancelled",
    Exit.STALLED: "the model could not be reached; the run can be resumed",
    Exit.WAITING: "the run is paused, or waits for a person's answer; then it can be resumed",
    Exit.BUG: "our turn: a bug in Artificer",
    Exit.INTERRUPTED: "interrupted (Ctrl-C); a run can be resumed",
    Exit.PIPE: "the reader of stdout went away",
    Exit.TERMINATED: "terminated (SIGTERM); a run can be resumed",
}

_OF_TURN: dict[Turn, Exit] = {
    "author": Exit.AUTHOR,
    "operator": Exit.OPERATOR,
    "model": Exit.INCOMPLETE,
    "us": Exit.BUG,
}


def exit_of(error: ArtificerError) -> Exit:
    """The exit code for an error: whose turn it is, or that stored bytes were changed."""
    if isinstance(error, TamperedError):
        return Exit.WRONG
    return _OF_TURN[error.turn]


class ReaderGone(Exception):
    """Nobody reads stdout any more. Not an OSError, which click would turn into an exit code."""


class Interrupted(Exception):
    """A signal ended the command after it had put everything in order."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted")
        self.exit = Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED


def epilog() -> str:
    """The exit codes as they stand at the end of ``artificer --help``."""
    lines = [f"{code.value:>5}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\n".join(["Exit codes:", *lines])

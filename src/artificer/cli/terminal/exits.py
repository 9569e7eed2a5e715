"""Exit codes, which scripts may rely on. ``--help`` imports this file: keep it light."""

from __future__ import annotations

from enum import IntEnum

from artificer.errors import ArtificerError, TamperedError, Turn


class Exit(IntEnum):
    """The end of a command. :data:`MEANINGS` explains each."""

    OK = 0
    WRONG = 1
    USAGE = 2
    OPERATOR = 3
    AUTHOR = 4
    INCOMPLETE = 5
    STALLED = 6
    WAITING = 7
    BUG = 70
    HUNG_UP = 129
    INTERRUPTED = 130
    PIPE = 141
    TERMINATED = 143


MEANINGS: dict[Exit, str] = {
    Exit.OK: "success; for a run: completed",
    Exit.WRONG: "a check failed: a divergence, a changed byte, a model that does not answer",
    Exit.USAGE: "wrong usage of the command line",
    Exit.OPERATOR: "configuration error: a missing or invalid setting, file, extra or run",
    Exit.AUTHOR: "tool error: a manifest or a tool is invalid",
    Exit.INCOMPLETE: "the run ended as partial, failed or cancelled",
    Exit.STALLED: "the model could not be reached; the run can be resumed",
    Exit.WAITING: "the run is paused or waits for approval; it can be resumed",
    Exit.BUG: "internal error; please report it",
    Exit.HUNG_UP: "the terminal was closed (SIGHUP); the run can be resumed",
    Exit.INTERRUPTED: "interrupted (Ctrl-C); the run can be resumed",
    Exit.PIPE: "the reader of stdout closed the pipe",
    Exit.TERMINATED: "terminated (SIGTERM); the run can be resumed",
}

_OF_TURN: dict[Turn, Exit] = {
    "author": Exit.AUTHOR,
    "operator": Exit.OPERATOR,
    "model": Exit.INCOMPLETE,
    "us": Exit.BUG,
}


def exit_of(error: ArtificerError) -> Exit:
    """Return the exit code of an error: by who must act, or that stored bytes were changed."""
    if isinstance(error, TamperedError):
        return Exit.WRONG
    return _OF_TURN[error.turn]


class ReaderGone(Exception):
    """The reader of stdout closed the pipe. Not an OSError: click would make it an exit code."""


class Interrupted(Exception):
    """A signal ended the command, in order."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted")
        self.exit = Exit(128 + number)


def epilog() -> str:
    """Return the list of exit codes for ``artificer --help``."""
    lines = [f"{code.value:>5}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\n".join(["Exit codes:", *lines])

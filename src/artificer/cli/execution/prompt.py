"""The prompt of a command line: an argument, standard input, or both."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from artificer.cli.interruptible import interrupted_at_once
from artificer.cli.terminal.console import note
from artificer.ports import Attachment
from artificer.ports.attachment import attachment_at

LONGEST = 8 * 1024 * 1024
"""Bytes of the longest prompt: no model reads more."""

PATIENCE = 1.0
"""Seconds without input after which the user learns what the command is waiting for."""


def read_prompt(argument: str | None) -> str:
    """Return the prompt; ``-``, or no argument, is all of stdin.

    A pipe or a file on stdin is added to an argument, after an empty line. Raises UsageError.
    """
    if argument is None and sys.stdin.isatty():
        raise click.UsageError("The prompt is missing: pass it as an argument or on stdin.")
    words = "" if argument in (None, "-") else _decoded(_bytes_of(argument or ""))
    piped = _decoded(_standard_input()) if not words or _is_piped() else ""
    text = f"{words}\n\n{piped}" if words and piped.strip() else words or piped
    if not text.strip():
        raise click.UsageError("The prompt is empty.")
    return text


def _bytes_of(argument: str) -> bytes:
    # A byte of an argument that is not UTF-8 arrives as a surrogate, which cannot be encoded.
    try:
        return argument.encode()
    except UnicodeError as error:
        raise click.UsageError("The prompt is not UTF-8.") from error


def _is_piped() -> bool:
    """Whether stdin is a pipe or a file, which people put there on purpose."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _standard_input() -> bytes:
    with interrupted_at_once():
        if _is_piped() and not select.select([sys.stdin], [], [], PATIENCE)[0]:
            note("reading stdin; end it with Ctrl-D, or use </dev/null")
        return sys.stdin.buffer.read(LONGEST + 1)


def read_attachments(paths: Iterable[Path]) -> list[Attachment]:
    """Return the attachments in files, which may be pipes. Raises what `attachment_at` raises."""
    with interrupted_at_once():
        return list(map(attachment_at, paths))


def _decoded(data: bytes) -> str:
    if len(data) > LONGEST:
        raise click.UsageError(
            f"The prompt is longer than {LONGEST:,} bytes, which no model reads. Give the model"
            " a folder (--folder) or a tool that reads the data."
        )
    try:
        text = data.decode()
    except UnicodeError as error:
        raise click.UsageError("The prompt is not UTF-8.") from error
    if "\0" in text:
        raise click.UsageError("The prompt holds a NUL character: it is not text.")
    return text

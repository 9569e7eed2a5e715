"""The prompt of a command line, as an argument or from stdin."""

from __future__ import annotations

import sys

import click


def read_prompt(argument: str) -> str:
    """Return the argument, or all of stdin for ``-``. Raises UsageError."""
    try:
        # A byte of an argument that is not UTF-8 arrives as a surrogate, which cannot be encoded.
        data = sys.stdin.buffer.read() if argument == "-" else argument.encode()
        text = data.decode()
    except UnicodeError as error:
        raise click.UsageError("The prompt is not UTF-8.") from error
    if not text.strip():
        raise click.UsageError("The prompt is empty.")
    return text

"""Output: data on stdout, everything else on stderr, colour only on a terminal.

``--help`` imports this file: keep it light.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from artificer.cli.terminal.stdout import data_stream
from artificer.values.unseen import UNSEEN

_STYLES = {"error": "31;1", "hint": "36", "good": "32", "bad": "31", "dim": "2", "strong": "1"}

NAME = 100
"""Characters of a tool's name that are shown."""


def prepare() -> None:
    """Open the streams that are closed, and make them escape characters that they cannot encode.

    Stdout then writes all that it is given, and says with ReaderGone that its reader is gone.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It takes the lowest free number, its own: a journal must not get that one.
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = data_stream(sys.stdout)


def clean(text: str) -> str:
    """Make text harmless for a terminal; new lines and tabs are kept.

    A model can write escape sequences that move the cursor, change the title or turn the reading
    direction, and characters that nobody sees in the call to approve. They are shown by their
    numbers.
    """
    return UNSEEN.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str, limit: int) -> str:
    """Return clean text on one line of at most ``limit`` characters."""
    line = clean(" ".join(text[: 4 * limit].split()))
    whole = len(line) <= limit and len(text) <= 4 * limit
    return line if whole else line[: limit - 1] + "…"


def out(text: str = "", style: str | None = None) -> None:
    """Write a line of data to stdout."""
    _write(styled(clean(text), style, sys.stdout))


def out_styled(text: str) -> None:
    """Write a line of data to stdout, of pieces that were cleaned and then coloured."""
    _write(text)


def out_json(value: Any) -> None:
    """Write one JSON value to stdout, in ASCII, so that it holds no control character."""
    _write(json.dumps(value, indent=2))


def out_json_text(text: str) -> None:
    """Write a text that is JSON to stdout, as it is but for what it holds that nobody sees.

    That, and what stdout cannot encode, is written with the escapes of JSON, so that it stays JSON.
    """
    text = UNSEEN.sub(lambda match: _json_escape(match[0]), text)
    if not sys.stdout.encoding.lower().startswith("utf"):
        text = "".join(c if c.isascii() else _json_escape(c) for c in text)
    _write(text)


def out_bytes(data: bytes) -> None:
    """Write data to stdout as it is. Raises ReaderGone."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _json_escape(character: str) -> str:
    """Return what means a character in a string of JSON. A carriage return is none of a string."""
    return "" if character == "\r" else json.dumps(character)[1:-1]


def _write(text: str) -> None:
    """Write to stdout. Raises ReaderGone."""
    sys.stdout.write(text + "\n")


def note(text: str, style: str | None = None) -> None:
    """Write a line to stderr."""
    _write_error(styled(clean(text), style, sys.stderr))


def _write_error(text: str) -> None:
    """Write to stderr. A terminal that was closed is not a reason to stop."""
    with suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def complain(message: str, hint: str | None = None) -> None:
    """Write an error, and a hint at the next step, to stderr."""
    label = styled("error:", "error", sys.stderr)
    _write_error(f"{label} {clean(message)}")
    if hint:
        _write_error(f"{styled('hint:', 'hint', sys.stderr)} {clean(hint)}")


def styled(text: str, style: str | None, stream: TextIO) -> str:
    """Colour a text if the stream shows colours."""
    if style is None or not has_colour(stream):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream is a terminal with colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

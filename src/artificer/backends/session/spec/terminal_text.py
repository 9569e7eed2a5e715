"""Terminal output as plain text: pure, and linear in the output's length."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # CSI (ECMA-48 section 5.4), also a cut one
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC: strings
    r"|\x1b[ -/]*[0-~]?"  # the other escape sequences
)
_CONTROLS = re.compile(r"[\x00-\x07\x0b-\x1f\x7f-\x9f]")


def plain(data: bytes) -> str:
    """The text without escape sequences and controls; only tabs and newlines are kept.

    Bytes that are no UTF-8 become U+FFFD. What a carriage return or a backspace takes back is
    gone, as it is on a screen.
    """
    text = _ESCAPES.sub("", data.decode("utf-8", "replace"))
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\b" in text:
        text = _with_backspaces(text)
    return _CONTROLS.sub("", text)


def last_line(text: str) -> str:
    """Return the text after the last newline: a prompt, if the program is waiting for input."""
    return text.rpartition("\n")[2]


def without_echo(text: str, line: str) -> str:
    """Take away the line that was sent, if the program has repeated it."""
    first, newline, rest = text.partition("\n")
    return rest if newline and first.rstrip() == line.rstrip() else text


def _with_backspaces(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)

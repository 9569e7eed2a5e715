"""The mark that replaces a secret in a text."""

from __future__ import annotations

import re

MARK_BEGINS = "[secret "
"""The text with which every mark begins."""

_MARK = re.compile(r"\[secret [^\[\]\n]{1,200}\]")


def mark_of(name: str) -> str:
    """The mark of a secret by its name."""
    return f"[secret {name}]"


def marks_in(text: str) -> tuple[str, ...]:
    """The marks in a text, each once, in order."""
    return tuple(dict.fromkeys(_MARK.findall(text))) if MARK_BEGINS in text else ()

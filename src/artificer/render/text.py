"""Text on its way to a page: harmless characters, escapes, numbers and anchors.

Everything a model wrote passes through :func:`clean` or :func:`escape` before it is written.
"""

from __future__ import annotations

import html
import re

from artificer.values.text import UNPRINTABLE, fence_for

_SPECIAL = re.compile(r"([\\`*_{}\[\]>#|~&!])")
_LINE_START = re.compile(r"^(?:(?=[-+=])|(\d{1,9})(?=[.)](?:\s|$)))")

_GROUP_FROM = 10_000
"""Digits are grouped from five on, so that a year stays a year."""


def clean(text: str) -> str:
    """Return ``text`` with each character that no document may hold replaced by U+FFFD."""
    return UNPRINTABLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Return clean text with every run of white space as one space."""
    return " ".join(clean(text).split())


def escape(text: str) -> str:
    """Return clean text that is safe as HTML or XML text and inside quoted attributes."""
    return html.escape(clean(text), quote=True)


def escape_markdown(text: str) -> str:
    """Return the text on one line, in which nothing is Markdown or HTML."""
    escaped = _SPECIAL.sub(r"\\\1", one_line(text)).replace("<", "&lt;")
    return _LINE_START.sub(lambda m: (m[1] or "") + "\\", escaped)


def code_span(text: str) -> str:
    """Return a code span, which a backtick within cannot end."""
    text = one_line(text)
    fence = fence_for(text, least=1)
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"{fence}{text}{fence}"


def fenced(content: str, language: str) -> str:
    """A code block whose fence is longer than any run of backticks within."""
    fence = fence_for(content)
    return f"{fence}{language}\n{content.rstrip(chr(10))}\n{fence}"


def figure(value: float) -> str:
    """Write a finite number exactly (shortest digits that read back the same), for people."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if abs(value) < _GROUP_FROM or abs(value) >= 1e15:
        return repr(value)
    return f"{value:,}"


def percent(part: float, whole: float) -> str:
    """Write a share of a whole with as many decimals as it takes not to read 0 %."""
    share = 100 * part / whole if whole else 0.0
    return f"{share:.0f}%" if share >= 1 or share == 0 else f"{share:.1g}%"


def anchor(kind: str, name: str) -> str:
    """Return the fragment id of an artifact: different artifacts never share one."""
    safe = re.sub("[^A-Za-z0-9-]", lambda m: f"_{ord(m.group()):x}_", name)
    return f"{kind}-{safe}"

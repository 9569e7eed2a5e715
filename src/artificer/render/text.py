"""Text for a page: safe characters, escaping and anchors.

Everything a model wrote goes through :func:`clean` or :func:`escape` before it is written.
"""

from __future__ import annotations

import html
import re

from artificer.values.text import UNPRINTABLE, fence_for
from artificer.values.unseen import numbered

_SPECIAL = re.compile(r"([\\`*_{}\[\]>#|~&!$])")
_OVERRIDES = re.compile("[\u202d\u202e]")
"""Characters that reverse the letters after them. No language is written with them."""

_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that change the order in which the words of a line stand."""

_LINE_START = re.compile(r"^(?:(?=[-+=])|(\d{1,9})(?=[.)](?:\s|$)))")


def clean(text: str) -> str:
    """Return ``text`` with each character that a document may not contain replaced by U+FFFD."""
    return re.sub(UNPRINTABLE, "\ufffd", text)


def straight(text: str) -> str:
    """Return clean text in which nothing reverses letters: such a character shows its number."""
    return _OVERRIDES.sub(_shown, clean(text))


def in_order(text: str) -> str:
    """Return clean code whose words stand as a program reads them (CVE-2021-42574)."""
    return _REORDERING.sub(_shown, clean(text))


def _shown(found: re.Match[str]) -> str:
    return numbered(found[0])


def one_line(text: str) -> str:
    """Return straight text with each run of white space collapsed to one space."""
    return " ".join(straight(text).split())


def escape(text: str) -> str:
    """Return clean text that is safe as HTML or XML text and inside quoted attributes."""
    return html.escape(clean(text), quote=True)


def escape_markdown(text: str) -> str:
    """Return the text on one line, with all Markdown and HTML escaped."""
    escaped = _SPECIAL.sub(r"\\\1", one_line(text)).replace("<", "&lt;")
    return _LINE_START.sub(lambda m: (m[1] or "") + "\\", escaped)


def code_span(text: str) -> str:
    """Return a code span that a backtick in the text cannot end."""
    text = one_line(text)
    fence = fence_for(text, least=1)
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"{fence}{text}{fence}"


def fenced(content: str, language: str) -> str:
    """Return a code block whose fence is longer than any run of backticks in it."""
    fence = fence_for(content)
    return f"{fence}{language}\n{content.rstrip(chr(10))}\n{fence}"


def anchor(kind: str, name: str) -> str:
    """Return the fragment id of an artifact, different for different artifacts."""
    safe = re.sub("[^A-Za-z0-9-]", lambda m: f"_{ord(m.group()):x}_", name)
    return f"{kind}-{safe}"

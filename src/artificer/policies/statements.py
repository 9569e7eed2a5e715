"""Splitting a text of Cedar policies into single policies, so that a fault has a line.

The engine reports a fault without its position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|;', re.DOTALL)


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield every policy of a text with the line on which it begins.

    Text after the last semicolon counts as a policy too, unless it is only comments.
    """
    begin = 0
    for token in _TOKENS.finditer(text):
        if token.group() == ";":
            yield _placed(text, begin, token.end())
            begin = token.end()
    line, rest = _placed(text, begin, len(text))
    if _skipped(rest) < len(rest):
        yield line, rest


_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")


def _skipped(text: str) -> int:
    """Return the position of the first word of a text, after spaces and comments."""
    blank = _BLANK.match(text)
    return blank.end() if blank else 0


def _placed(text: str, begin: int, end: int) -> tuple[int, str]:
    statement = text[begin:end]
    first = begin + min(_skipped(statement), len(statement))
    return text.count("\n", 0, first) + 1, statement

"""JSON as people read it: on lines of its own, with each token as it was recorded."""

from __future__ import annotations

import re
from itertools import pairwise

from artificer.values.exact_json import is_json

LONGEST = 20_000
"""Characters of a text that is put on lines; a longer one is shown as it is."""

DEEPEST = 20
"""Levels that their indentation distinguishes."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{}",:\s]+', re.DOTALL)
_OPENING, _CLOSING = ("{", "["), ("}", "]")


def indented(text: str) -> str:
    """Return a JSON object or array on lines of its own; any other text as it is.

    No token changes: what a person approves is what was recorded.
    """
    if not text.startswith(_OPENING) or len(text) > LONGEST or not is_json(text):
        return text
    pieces, depth = list[str](), 0
    for token, following in pairwise([*_TOKEN.findall(text), ""]):
        depth += (token in _OPENING) - (token in _CLOSING)
        pieces.append(token)
        if token == ":":
            pieces.append(" ")
        elif token == "," or (token in _OPENING and following not in _CLOSING):
            pieces.append(_line(depth))
        elif following in _CLOSING and token not in _OPENING:
            pieces.append(_line(depth - 1))
    return "".join(pieces)


def _line(depth: int) -> str:
    return "\n" + "  " * min(depth, DEEPEST)

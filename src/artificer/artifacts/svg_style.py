"""The ``style`` attribute as a list of declarations, read by tinycss2.

What comes back is spelled with escapes decoded and comments gone, so that the grammars for
attributes see what a browser would see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_STYLE = 4_000
"""Longest ``style``, in characters."""

_BLOCKS = frozenset({"() block", "[] block", "{} block"})


def declarations(style: str) -> Iterator[tuple[str, str] | None]:
    """Each declaration's property and value; None for whatever is no plain declaration.

    Priorities (``!important``) are left out: there is nothing that they could override.
    """
    import tinycss2  # type: ignore[import-untyped]  # it ships no types

    if len(style) > MAX_STYLE:
        yield None
        return
    for node in tinycss2.parse_blocks_contents(style, skip_comments=True, skip_whitespace=True):
        if node.type == "declaration" and _is_flat(node.value):
            yield node.lower_name, tinycss2.serialize(node.value).strip()
        else:
            yield None


def _is_flat(tokens: list[Any]) -> bool:
    """Whether functions are the only nesting, one level deep.

    No accepted value nests deeper, and tinycss2 serialises recursively: a thousand open
    parentheses would exhaust the stack.
    """
    for token in tokens:
        inner = token.arguments if token.type == "function" else ()
        if token.type in _BLOCKS or any(t.type in _BLOCKS or t.type == "function" for t in inner):
            return False
    return True

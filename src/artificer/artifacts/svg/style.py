"""Declarations of CSS, as ``style`` holds them, read by tinycss2.

What comes back is spelled with escapes decoded and comments gone, so that the grammars for
attributes see what a browser would see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_STYLE = 4_000
"""Longest list of declarations, in characters."""

_DEEPEST = 3
"""Functions in functions, such as ``drop-shadow(… rgb(…))``. tinycss2 serialises recursively: a
thousand open parentheses would exhaust the stack."""

_BLOCKS = frozenset({"() block", "[] block", "{} block"})


@dataclass(frozen=True)
class Declaration:
    """A property with its value. ``important`` ones override the others."""

    name: str
    value: str
    important: bool


def declarations(style: str) -> Iterator[Declaration | None]:
    """Each declaration of a ``style``; None for whatever is not a plain declaration."""
    import tinycss2  # type: ignore[import-untyped]  # it ships no types

    if len(style) > MAX_STYLE:
        yield None
        return
    nodes = tinycss2.parse_blocks_contents(style, skip_comments=True, skip_whitespace=True)
    yield from map(declaration, nodes)


def declaration(node: Any) -> Declaration | None:
    """A node of tinycss2's as a declaration, or None if it is not a plain one."""
    import tinycss2

    if node.type != "declaration" or not _is_shallow(node.value):
        return None
    # The name of a custom property keeps its case.
    name = node.name if node.name.startswith("--") else node.lower_name
    return Declaration(name, tinycss2.serialize(node.value).strip(), node.important)


def _is_shallow(tokens: list[Any]) -> bool:
    """Whether functions are the only nesting, and not too deep."""
    for _ in range(_DEEPEST + 1):
        if any(token.type in _BLOCKS for token in tokens):
            return False
        tokens = [t for token in tokens if token.type == "function" for t in token.arguments]
    return not tokens

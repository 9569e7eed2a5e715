"""CSS declarations, parsed by tinycss2.

The result has escapes decoded and comments removed, so that the grammars of attributes see the
same text as a browser.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

MAX_STYLE = 4_000
"""Longest list of declarations, in characters."""

_DEEPEST = 3
"""Deepest nesting of functions, such as ``drop-shadow(… rgb(…))``. tinycss2 serialises
recursively: a thousand open parentheses would exhaust the stack."""

_BLOCKS = frozenset({"() block", "[] block", "{} block"})


class Declaration(Struct, frozen=True):
    """A property with its value. ``important`` declarations override the others."""

    name: str
    value: str
    important: bool


def declarations(style: str) -> Iterator[Declaration | None]:
    """Yield each declaration of a ``style``, or None for one that is not plain."""
    import tinycss2  # type: ignore[import-untyped]  # it has no type stubs

    if len(style) > MAX_STYLE:
        yield None
        return
    nodes = tinycss2.parse_blocks_contents(style, skip_comments=True, skip_whitespace=True)
    yield from map(declaration, nodes)


def declaration(node: Any) -> Declaration | None:
    """Return a tinycss2 node as a declaration, or None if it is not a plain one."""
    import tinycss2

    if node.type != "declaration" or not _is_shallow(node.value):
        return None
    # The name of a custom property is case-sensitive.
    name = node.name if node.name.startswith("--") else node.lower_name
    return Declaration(name, tinycss2.serialize(node.value).strip(), node.important)


def _is_shallow(tokens: list[Any]) -> bool:
    """Return whether functions are the only nesting, and not too deep."""
    for _ in range(_DEEPEST + 1):
        if any(token.type in _BLOCKS for token in tokens):
            return False
        tokens = [t for token in tokens if token.type == "function" for t in token.arguments]
    return not tokens

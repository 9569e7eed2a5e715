"""SVGs: small drawings such as an architecture sketch or a flow. Not for charts.

The model's markup is never shown: it is parsed and rebuilt from an allow-list
(:mod:`artificer.artifacts.svg.rebuild`), and only the rebuilt markup is stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from artificer.artifacts.fields import Id, Title, text
from artificer.artifacts.svg.kind import MAX_CONTENT, SvgSource
from artificer.artifacts.svg.rebuild import rebuild
from artificer.errors import InvariantError
from artificer.values.base import JsonObject, Problem, Value


class Svg(Value):
    """A drawing that is safe to show. ``content`` is the rebuilt, canonical markup."""

    id: Id
    title: Title = ""
    content: str


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the reasons why the drawing cannot be shown safely and completely."""
    content = text(payload, "content")
    if content and len(content) <= MAX_CONTENT:
        result = rebuild(content, "x-")
        if not isinstance(result, str):
            yield from result


def load(payload: JsonObject) -> Svg:
    """Return the rebuilt drawing. Its ids begin with its own id, so that drawings never collide.

    Raises:
        InvariantError: the drawing has problems.
    """
    source = SvgSource.from_json(payload)
    content = rebuild(source.content, source.id + "-")
    if not isinstance(content, str):
        raise InvariantError(f"SVG {source.id!r} was accepted, but cannot be rebuilt.")
    return Svg(id=source.id, title=source.title, content=content)

"""SVGs: small drawings such as an architecture sketch or a flow. Not for charts.

The model's markup is never shown: it is parsed and rebuilt from an allow-list
(:mod:`artificer.artifacts.svg.rebuild`), and only the rebuilt markup is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from artificer.artifacts.fields import Id, Title, text
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.svg.rebuild import rebuild
from artificer.artifacts.tool import wrapped_tool
from artificer.errors import InvariantError
from artificer.values.base import JsonObject, Meta, Problem, Value

MAX_SVGS = 8
MAX_CONTENT = 64_000


class SvgSource(Value):
    """A drawing as a model sends it: hostile until rebuilt."""

    id: Id
    title: Title = ""
    content: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_CONTENT,
            description="One whole <svg>…</svg> document with a viewBox: shapes, paths, text,"
            " gradients and markers; no scripts, images, links, animation or foreign markup.",
        ),
    ]


class Svg(Value):
    """A drawing that is safe to show. ``content`` is the rebuilt, canonical markup."""

    id: Id
    title: Title = ""
    content: str


CREATE_SVG = wrapped_tool(
    "create_svg",
    "Draw a simple vector diagram, such as an architecture or a flow. For data make a chart."
    " Cite it in the answer as {{artifact:svg:ID}}, with exactly this id.",
    SvgSource,
    "svg",
)


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


KIND = PayloadKind(
    tools=(CREATE_SVG,),
    limit=MAX_SVGS,
    problems=lambda _, payload, __: problems(payload),
    load=lambda _, payload: load(payload),
    size=lambda drawing: f"rebuilt, {count(len(drawing.content), 'character')}",
)

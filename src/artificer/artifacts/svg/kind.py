"""The tool that draws: what rebuilds a drawing is imported when there is one."""

from __future__ import annotations

from typing import Annotated

from artificer.artifacts.fields import Id, Title
from artificer.artifacts.payload import PayloadKind, count
from artificer.artifacts.tool import wrapped_tool
from artificer.contracts.definition import ToolDefinition
from artificer.plugins import on_call
from artificer.values.base import Meta, Value

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


def tools() -> tuple[ToolDefinition, ...]:
    """Return the tool that makes one."""
    tool = wrapped_tool(
        "create_svg",
        "Draw a simple vector diagram, such as an architecture or a flow. For data make a chart."
        " Cite it in the answer as {{artifact:svg:ID}}, with exactly this id.",
        SvgSource,
        "svg",
    )
    return (tool,)


_problems = on_call("artificer.artifacts.svg.payload:problems")
_load = on_call("artificer.artifacts.svg.payload:load")

KIND = PayloadKind(
    tools=tools,
    limit=MAX_SVGS,
    problems=lambda _, payload, __: _problems(payload),
    load=lambda _, payload: _load(payload),
    size=lambda drawing: f"rebuilt, {count(len(drawing.content), 'character')}",
)

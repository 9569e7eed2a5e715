"""Payloads of a given size, and the whole check that the gate makes."""

from __future__ import annotations

from typing import Any

from artificer.artifacts import catalog
from artificer.artifacts.ref import ArtifactKind, ArtifactRef
from artificer.backends.artifact import offered
from artificer.contracts.schema import compile_schema
from artificer.values.base import Problem

TOOLS = {tool.name: tool for tool in offered.tools()}
SVG = '<svg viewBox="0 0 9 9"><rect width="5" height="5"/></svg>'

MINIMAL: dict[str, dict[str, Any]] = {
    "create_file": {"name": "a.md", "content": "x"},
    "create_pie_chart": {"id": "a", "segments": [{"label": "x", "value": 1}]},
    "create_bar_chart": {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [1]}]},
    "create_line_chart": {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [-1]}]},
    "create_area_chart": {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [0.5]}]},
    "create_scatter_chart": {
        "id": "a",
        "series": [{"name": "s", "points": [{"x": 1, "y": 2}]}],
    },
    "create_stacked_bar_chart": {
        "id": "a",
        "labels": ["x"],
        "series": [{"name": "s", "values": [0]}],
    },
    "create_histogram_chart": {"id": "a", "values": [1, 2.5]},
    "create_heat_map_chart": {
        "id": "a",
        "columns": ["x"],
        "rows": [{"label": "y", "values": [1]}],
    },
    "create_box_plot_chart": {"id": "a", "groups": [{"label": "x", "values": [1, 2]}]},
    "create_combined_chart": {
        "id": "a",
        "labels": ["x"],
        "bars": [{"name": "s", "values": [1]}],
        "lines": [{"name": "t", "values": [2]}],
    },
    "create_table": {"table": {"kind": "table", "id": "a", "columns": ["x"], "rows": []}},
    "create_list": {"list": {"kind": "list", "id": "a", "items": ["x"]}},
    "create_checklist": {
        "checklist": {"kind": "checklist", "id": "a", "items": [{"id": "i", "label": "x"}]}
    },
    "create_svg": {"svg": {"id": "a", "content": SVG}},
}


def problems(
    tool: str, arguments: dict[str, Any], made: tuple[ArtifactRef, ...] = ()
) -> tuple[Problem, ...]:
    """Schema problems and semantic ones, as the gate reports them."""
    schema = compile_schema(TOOLS[tool].input_schema)
    return (*schema.problems(arguments), *catalog.check(tool, arguments, made))


def pointers(tool: str, arguments: dict[str, Any], made: tuple[ArtifactRef, ...] = ()) -> list[str]:
    """Where the problems are."""
    return [problem.pointer for problem in problems(tool, arguments, made)]


def ref(kind: ArtifactKind, name: str, title: str = "") -> ArtifactRef:
    """An accepted artifact."""
    tool = "create_bar_chart" if kind == "chart" else f"create_{kind}"
    return ArtifactRef(kind=kind, id=name, tool=tool, title=title, payload="sha256:" + "0" * 64)

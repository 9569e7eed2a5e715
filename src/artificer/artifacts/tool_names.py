"""The names of the tools that make artifacts: what each makes, and where its payload is."""

from __future__ import annotations

from artificer.artifacts.ref import ArtifactKind
from artificer.values.base import JsonObject

MAKES: dict[str, ArtifactKind] = {
    "create_file": "file",
    "create_pie_chart": "chart",
    "create_bar_chart": "chart",
    "create_line_chart": "chart",
    "create_area_chart": "chart",
    "create_scatter_chart": "chart",
    "create_stacked_bar_chart": "chart",
    "create_histogram_chart": "chart",
    "create_heat_map_chart": "chart",
    "create_box_plot_chart": "chart",
    "create_combined_chart": "chart",
    "create_table": "table",
    "create_list": "list",
    "create_checklist": "checklist",
    "create_svg": "svg",
    "create_value": "value",
}
"""The kind that each tool makes."""

_WRAPPED = frozenset({"create_table", "create_list", "create_checklist", "create_svg"})
"""The tools whose payload is one member of their arguments, named as the kind."""


def is_artifact_tool(name: str) -> bool:
    """Return whether a tool of this name makes an artifact of a report."""
    return name in MAKES


def kind_of(tool: str) -> ArtifactKind:
    """Return the kind of artifact that the tool makes."""
    return MAKES[tool]


def within(tool: str) -> str:
    """Return the member of the arguments that holds the payload; empty where they are it."""
    return MAKES[tool] if tool in _WRAPPED else ""


def payload_of(tool: str, arguments: JsonObject) -> JsonObject | None:
    """Return the payload within the arguments of a tool; None if there is none."""
    member = within(tool)
    payload = arguments.get(member) if member else arguments
    return payload if isinstance(payload, dict) else None

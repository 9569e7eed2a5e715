"""Two versions of an artifact: everything in which they differ, by its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from artificer.artifacts import build_catalog, catalog
from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.build_catalog import is_build_tool
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file import TextFile
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.value import CitedValue
from artificer.render.build_artifacts import build_artifact_markdown
from artificer.render.charts.words import CHARTS, Grid
from artificer.render.export.single import grid_of
from artificer.run_artifact import RunArtifact
from artificer.studio.differences import DiffLine, line_diff
from artificer.studio.grid_changes import GridChange, grid_change
from artificer.values.canon import canonical_typed
from artificer.values.text import clip

MAX_FACT = 500
"""Characters of a changed member that are shown."""

_CONTENTS = frozenset(
    (
        "kind",
        "id",
        "name",
        "content",
        "rows",
        "columns",
        "items",
        "series",
        "labels",
        "segments",
        "values",
        "groups",
        "bars",
        "lines",
        "data",
        "replace",
    )
)
"""Members that are compared as rows or lines, or that say nothing to a reader."""


class FactChange(NamedTuple):
    """A member that has another value, such as the title."""

    name: str
    before: str
    after: str


class ArtifactChange(NamedTuple):
    """The differences of two versions. ``drawings`` says that both can be drawn."""

    facts: tuple[FactChange, ...]
    grid: GridChange | None
    lines: tuple[DiffLine, ...]
    drawings: bool

    @property
    def any(self) -> bool:
        """Whether anything differs that a reader sees."""
        return bool(self.facts or self.lines or (self.grid and self.grid.any))


def artifact_change(before: RunArtifact, after: RunArtifact) -> ArtifactChange:
    """Compare two versions of an artifact."""
    if is_build_tool(before.tool) or is_build_tool(after.tool):
        facts = [FactChange("Title", before.title, after.title)]
        lines = line_diff(build_text(before), build_text(after))
        return ArtifactChange(_changed(facts), None, lines, drawings=False)
    one, other = typed(before), typed(after)
    grids = compared_grid(one), compared_grid(other)
    change = grid_change(grids[0], grids[1]) if grids[0] and grids[1] else None
    drawings = all(isinstance(made, (Svg, *CHARTS)) for made in (one, other))
    lines = line_diff(_text(one), _text(other))
    return ArtifactChange(_changed(_facts(before, after)), change, lines, drawings=drawings)


def typed(made: RunArtifact) -> Artifact:
    """Return an artifact of a report as its kind. Raises InvariantError, InvalidValueError."""
    return catalog.load(made.tool, made.payload)


def build_text(made: RunArtifact) -> str:
    """Return an artifact of a build as Markdown."""
    kind = build_catalog.kind_of(made.tool)
    return build_artifact_markdown(build_catalog.read(kind, canonical_typed(made.payload)))


def compared_grid(artifact: Artifact) -> Grid | None:
    """Return the rows of an artifact; those of a checklist by the ids of its items."""
    if isinstance(artifact, Checklist):
        rows = tuple((item.id, item.label, item.checked) for item in artifact.items)
        return Grid(("Id", "Item", "Done"), rows)
    return None if isinstance(artifact, CitedValue) else grid_of(artifact)


def _text(artifact: Artifact) -> str:
    if isinstance(artifact, TextFile):
        return artifact.content
    return artifact.content.replace("><", ">\n<") if isinstance(artifact, Svg) else ""


def _facts(before: RunArtifact, after: RunArtifact) -> Iterator[FactChange]:
    if before.tool != after.tool:
        yield FactChange("Kind", _words(before.tool), _words(after.tool))
    one, other = typed(before).to_json(), typed(after).to_json()
    for name in dict.fromkeys((*one, *other)):
        if name not in _CONTENTS:
            yield FactChange(
                name.replace("_", " ").capitalize(),
                _written(one.get(name)),
                _written(other.get(name)),
            )
    yield FactChange("Source", before.source, after.source)


def _changed(facts: Any) -> tuple[FactChange, ...]:
    return tuple(fact for fact in facts if fact.before != fact.after)


def _words(tool: str) -> str:
    return tool.removeprefix("create_").replace("_", " ")


def _written(value: Any) -> str:
    if value is None or value == "" or value == []:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clip(value if isinstance(value, str) else str(value), MAX_FACT)

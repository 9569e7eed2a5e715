"""An artifact as its page shows it: by its kind, from our own renderer, escaped or rebuilt."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from markupsafe import Markup

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.build_catalog import is_build_tool
from artificer.artifacts.chart import Chart
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file import TextFile
from artificer.artifacts.list import ItemList
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.table import Table
from artificer.artifacts.value import CitedValue
from artificer.errors import InvariantError, MissingExtraError
from artificer.render.charts import NARROW, to_svg
from artificer.render.charts.summary import summary
from artificer.render.charts.words import CHARTS, grid
from artificer.render.figures import human_size
from artificer.render.language import language
from artificer.render.tables import table_grid
from artificer.run_artifact import RunArtifact
from artificer.studio.artifact_changes import build_text, typed
from artificer.studio.grids import GridChoice, SortedGrid, choice_of, sorted_grid


class ShownArtifact(NamedTuple):
    """The parts of an artifact's page. ``narrow`` is the chart for a phone.

    ``fault`` says why a chart is not drawn.
    """

    drawing: Markup = Markup("")
    narrow: Markup = Markup("")
    picture: str = ""
    fault: str = ""
    words: str = ""
    grid: SortedGrid | None = None
    items: tuple[tuple[str, bool | None], ...] = ()
    text: str = ""
    size: str = ""


def shown(made: RunArtifact, query: Mapping[str, str], kept: Mapping[str, str]) -> ShownArtifact:
    """Return the parts of a page. ``query`` says how its table is sorted and filtered."""
    if is_build_tool(made.tool):
        return ShownArtifact(text=build_text(made))
    artifact = typed(made)
    if (part := _PARTS.get(type(artifact))) is not None:
        return part(artifact)
    data = table_grid(artifact) if isinstance(artifact, Table) else grid(cast(Chart, artifact))
    sorted_as = sorted_grid(data, choice_of(query, len(data.columns)), kept)
    if isinstance(artifact, Table):
        return ShownArtifact(grid=sorted_as)
    return drawn(artifact)._replace(words=summary(cast(Chart, artifact)), grid=sorted_as)


def drawn(artifact: Artifact, within: str = "") -> ShownArtifact:
    """Return the drawing of a chart, or the picture of a drawing.

    A chart's is made of known elements, by our own renderer, and is put into the page, so that
    its marks can be pointed at. A model's drawing is an image, in which nothing runs.
    ``within`` keeps the ids of two versions on one page apart.
    """
    if isinstance(artifact, Svg):
        data = base64.b64encode(artifact.content.encode()).decode()
        return ShownArtifact(picture=f"data:image/svg+xml;base64,{data}")
    if not isinstance(artifact, CHARTS):
        return ShownArtifact()
    artifact = artifact.replace(id=f"{within}{artifact.id}")
    try:
        # each is rebuilt of known elements and attributes
        return ShownArtifact(Markup(to_svg(artifact)), Markup(to_svg(artifact, NARROW)))
    except (MissingExtraError, InvariantError) as error:
        return ShownArtifact(fault=f"{error.message} {error.hint or ''}".strip())


def is_chosen(choice: GridChoice) -> bool:
    """Whether a reader has sorted or filtered a table."""
    return bool(choice.column or choice.words)


_PARTS: dict[type, Callable[[Any], ShownArtifact]] = {
    ItemList: lambda made: ShownArtifact(items=tuple((item, None) for item in made.items)),
    Checklist: lambda made: ShownArtifact(items=tuple((i.label, i.checked) for i in made.items)),
    TextFile: lambda made: ShownArtifact(
        text=made.content, size=human_size(made.content, language("en"))
    ),
    CitedValue: lambda made: ShownArtifact(words=made.shown),
    Svg: drawn,
}
"""The parts of what is neither a table nor a chart."""

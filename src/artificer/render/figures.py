"""One artifact as HTML, by the template of its kind."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.chart import Chart, PieChart
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file import TextFile
from artificer.artifacts.list import ItemList
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.table import Table
from artificer.artifacts.value import CitedValue
from artificer.errors import InvariantError
from artificer.render.charts import NARROW, to_svg
from artificer.render.charts.summary import summary
from artificer.render.charts.words import grid
from artificer.render.language import Language
from artificer.render.report import ArtifactName
from artificer.render.tables import csv_file, table_grid, table_view
from artificer.render.template import filled, macro
from artificer.render.text import clean, in_order, one_line
from artificer.values.text import clip

_WIDE, _FULL = 5, 8
"""A table with this many columns may be wider than the text, and as wide as the window."""

_WIDTH = re.compile(r'<svg width="(\d+)')


def artifact_html(artifact: Artifact, name: ArtifactName, ui: Language) -> Markup:
    """Return the artifact as one block element whose id is ``name.anchor``.

    A chart that cannot be drawn shows its data and the reason.
    """
    return _FIGURES.get(type(artifact), _chart)(artifact, name, ui)


def human_size(content: str, ui: Language) -> str:
    """Return the size of a text in UTF-8, for people."""
    size = len(content.encode())
    if size < 1000:
        return ui.say("bytes", size)
    return ui.numbers.translated(f"{size / 1000:.1f}") + " kB"


def _chart(chart: Chart, name: ArtifactName, ui: Language) -> Markup:
    data = grid(chart, ui)
    drawing, narrow, fault = "", "", ""
    try:
        drawing = to_svg(chart, ui=ui)
        if _natural_width(drawing) > NARROW.width:
            narrow = to_svg(chart, NARROW, ui)
    except InvariantError as error:
        fault = clip(one_line(f"{error} {error.hint or ''}"), 300)
    return filled(
        "chart",
        ui=ui,
        name=name,
        size="own" if isinstance(chart, PieChart) else "wide",
        drawing=Markup(drawing),
        narrow=Markup(narrow),
        source=one_line(chart.source),
        fault=fault,
        summary=summary(chart, ui),
        table=table_view(data, ui),
        file=csv_file(data, chart.id, name.short),
    )


def _natural_width(drawing: str) -> int:
    found = _WIDTH.match(drawing)
    return int(found[1]) if found else NARROW.width + 1


def _table(table: Table, name: ArtifactName, ui: Language) -> Markup:
    data = table_grid(table)
    return filled(
        "table",
        ui=ui,
        name=name,
        size="full"
        if len(table.columns) >= _FULL
        else "wide"
        if len(table.columns) >= _WIDE
        else "",
        label=one_line(f"{name.short}: {name.title}" if name.title else name.short),
        table=table_view(data, ui),
        file=csv_file(data, table.id, name.short),
    )


def _list(listed: ItemList, name: ArtifactName, ui: Language) -> Markup:
    return filled(
        "list", ui=ui, name=name, tag="ol" if listed.ordered else "ul", items=listed.items
    )


def _checklist(checklist: Checklist, name: ArtifactName, ui: Language) -> Markup:
    return filled(
        "checklist",
        ui=ui,
        name=name,
        done=sum(i.checked for i in checklist.items),
        items=checklist.items,
    )


def _drawing(svg: Svg, name: ArtifactName, ui: Language) -> Markup:
    return filled(
        "drawing",
        ui=ui,
        name=name,
        alternative=_alternative(svg) or name.title,
        data=base64.b64encode(svg.content.encode()).decode(),
    )


def _alternative(svg: Svg) -> str:
    """Return the drawing's own title and description."""
    root = ElementTree.fromstring(svg.content)
    texts = (root.findtext(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc"))
    return ". ".join(" ".join(text.split()) for text in texts if text and text.strip())


def _file(file: TextFile, name: ArtifactName, ui: Language) -> Markup:
    return filled(
        "file",
        ui=ui,
        name=name,
        path=file.name,
        leaf=file.name.rpartition("/")[2],
        size=human_size(file.content, ui),
        media_type="text/markdown" if file.name.lower().endswith(".md") else "text/plain",
        data=base64.b64encode(clean(file.content).encode()).decode(),
        content=in_order(file.content),
    )


def _value(_: CitedValue, name: ArtifactName, __: Language) -> Markup:
    return macro("citation", "value", name, False)


_FIGURES: dict[type, Callable[[Any, ArtifactName, Language], Markup]] = {
    Table: _table,
    ItemList: _list,
    Checklist: _checklist,
    Svg: _drawing,
    TextFile: _file,
    CitedValue: _value,
}
"""How each kind is shown; every other one is a chart."""

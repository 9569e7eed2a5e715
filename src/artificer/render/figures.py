"""One artifact as HTML. Every value is escaped here."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.chart import Chart
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file import TextFile
from artificer.artifacts.list import ItemList
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.table import Table
from artificer.errors import InvariantError, MissingExtraError
from artificer.render.charts import to_svg
from artificer.render.charts.words import Grid, grid, summary
from artificer.render.report import ArtifactName
from artificer.render.tables import csv_link, table_html
from artificer.render.text import clean, escape, one_line
from artificer.values.text import clip

_WIDE_TABLE = 5
"""A table with this many columns may be wider than the text."""

_NARROW_CHART = 520
"""A chart up to this many pixels wide is shown at its own size, or smaller on a phone."""

_WIDTH = re.compile(r'<svg width="(\d+)')


def artifact_html(artifact: Artifact, name: ArtifactName) -> str:
    """Return the artifact as one block element whose id is ``name.anchor``.

    A chart that cannot be drawn, for example without the extra ``charts``, shows its data and the
    reason.
    """
    match artifact:
        case Table():
            return _table(artifact, name)
        case ItemList():
            return _list(artifact, name)
        case Checklist():
            return _checklist(artifact, name)
        case Svg():
            return _drawing(artifact, name)
        case TextFile():
            return _file(artifact, name)
        case _:
            return _chart(artifact, name)


def table_grid(table: Table) -> Grid:
    """Return the table's cells. The first column becomes row headings if its names are unique."""
    first = [row[0] for row in table.rows]
    heads = len(set(first)) == len(first) and all(isinstance(c, str) and c for c in first)
    return Grid(table.columns, table.rows, row_headed=heads and len(table.columns) > 1)


def human_size(content: str) -> str:
    """Return the size of a text in UTF-8, for people."""
    size = len(content.encode())
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB"


def tally(checklist: Checklist) -> str:
    """Return the progress of a checklist, such as "2 of 3 done"."""
    done = sum(item.checked for item in checklist.items)
    return f"{done} of {len(checklist.items)} done"


def _caption(name: ArtifactName) -> str:
    number = f'<span class="number">{name.number}</span>' if name.number else ""
    return number + (f"<bdi>{escape(name.title)}</bdi>" if name.title else "")


def _chart(chart: Chart, name: ArtifactName) -> str:
    data = grid(chart)
    caption = f'<caption class="hidden">Data of {escape(name.short)}</caption>'
    rows = table_html(data, caption, f"Data of {name.short}")
    try:
        drawing, opened, note = to_svg(chart), "", ""
    except (MissingExtraError, InvariantError) as error:
        drawing, opened = "", " open"
        words = clip(one_line(f"{error} {error.hint or ''}"), 300)
        note = f'<p class="note">Shown as data. {escape(words)}</p>'
    frame = drawing
    if drawing:
        frame = (
            f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(name.short)}">'
            f"{drawing}</div>\n"
        )
    size = "narrow" if _natural_width(drawing) <= _NARROW_CHART else "wide"
    return (
        f'<figure class="artifact chart {size}" id="{name.anchor}">'
        f"<figcaption>{_caption(name)}</figcaption>\n{frame}{note}"
        f'<div class="under"><details{opened}><summary>Data</summary>'
        f'<p dir="auto">{escape(summary(chart))}</p>\n{rows}</details>'
        f"{csv_link(data, chart.id, name.short)}</div></figure>"
    )


def _natural_width(drawing: str) -> int:
    found = _WIDTH.match(drawing)
    return int(found[1]) if found else _NARROW_CHART + 1


def _table(table: Table, name: ArtifactName) -> str:
    data = table_grid(table)
    wide = " wide" if len(table.columns) >= _WIDE_TABLE else ""
    label = f"{name.short}: {name.title}" if name.title else name.short
    return (
        f'<div class="artifact table{wide}" id="{name.anchor}">'
        f"{table_html(data, f'<caption>{_caption(name)}</caption>', label)}"
        f'<div class="under">{csv_link(data, table.id, name.short)}</div></div>'
    )


def _list(listed: ItemList, name: ArtifactName) -> str:
    tag = "ol" if listed.ordered else "ul"
    items = "".join(f'<li dir="auto">{escape(item)}</li>\n' for item in listed.items)
    heading, labelled = _heading(name)
    return (
        f'<div class="artifact list" id="{name.anchor}">{heading}'
        f"<{tag}{labelled}>\n{items}</{tag}></div>"
    )


def _checklist(checklist: Checklist, name: ArtifactName) -> str:
    items = "".join(
        f'<li><label><input type="checkbox"{" checked" if item.checked else ""}>'
        f'<span dir="auto">{escape(item.label)}</span></label></li>\n'
        for item in checklist.items
    )
    heading, labelled = _heading(name, f'<span class="tally">{tally(checklist)}</span>')
    return (
        f'<div class="artifact checklist" id="{name.anchor}">{heading}'
        f"<ul{labelled}>\n{items}</ul></div>"
    )


def _heading(name: ArtifactName, after: str = "") -> tuple[str, str]:
    """Return the heading above a list and the attribute that labels the list with it."""
    if not (name.title or after):
        return "", ""
    ref = f"{name.anchor}-caption"
    return f'<p class="caption" id="{ref}">{_caption(name)}{after}</p>', f' aria-labelledby="{ref}"'


def _drawing(svg: Svg, name: ArtifactName) -> str:
    """Return the drawing as an image, in which no script runs and nothing is fetched."""
    data = base64.b64encode(svg.content.encode()).decode()
    return (
        f'<figure class="artifact drawing wide" id="{name.anchor}">'
        f"<figcaption>{_caption(name)}</figcaption>\n"
        f'<img alt="{escape(_alternative(svg) or name.title)}"'
        f' src="data:image/svg+xml;base64,{data}"></figure>'
    )


def _alternative(svg: Svg) -> str:
    """Return the drawing's own title and description."""
    root = ElementTree.fromstring(svg.content)
    texts = (root.findtext(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc"))
    return ". ".join(" ".join(text.split()) for text in texts if text and text.strip())


def _file(file: TextFile, name: ArtifactName) -> str:
    kind = "text/markdown" if file.name.lower().endswith(".md") else "text/plain"
    data = base64.b64encode(clean(file.content).encode()).decode()
    leaf = escape(file.name.rpartition("/")[2])
    return (
        f'<div class="artifact file" id="{name.anchor}"><p class="caption">'
        f'<span class="name">{escape(file.name)}</span>'
        f'<span class="size">{human_size(file.content)}</span>'
        f'<a class="download" download="{leaf}" aria-label="Save {leaf}"'
        f' href="data:{kind};charset=utf-8;base64,{data}">Save</a></p>\n'
        "<details><summary>Show the text</summary>"
        f'<pre dir="auto" tabindex="0">{escape(file.content)}</pre></details></div>'
    )

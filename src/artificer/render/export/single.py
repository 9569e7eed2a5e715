"""One artifact as a file: its data, its picture, its text or its JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file import TextFile
from artificer.artifacts.list import ItemList
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.table import Table
from artificer.artifacts.value import CitedValue
from artificer.render.charts import to_svg
from artificer.render.charts.words import Grid, grid
from artificer.render.export.pixels import rendered
from artificer.render.language import Language, language_of
from artificer.render.spreadsheet import to_csv
from artificer.render.tables import table_grid
from artificer.render.text import clean
from artificer.values.base import JsonObject

if TYPE_CHECKING:
    from artificer.render.export.forms import ArtifactFormat

SHARPNESS = 2.0
"""Pixels of a picture for each pixel of the drawing, so that it is sharp in print."""

_SVG = "http://www.w3.org/2000/svg"
_FILLED = 720.0
_LARGEST = 4000
"""The longest side of a picture, in pixels."""


def grid_of(artifact: Artifact) -> Grid | None:
    """Return the rows of a table, a list or a checklist, or the data of a chart."""
    match artifact:
        case Table():
            return table_grid(artifact)
        case ItemList():
            return Grid(("Item",), tuple((item,) for item in artifact.items))
        case Checklist():
            rows = tuple((item.label, item.checked) for item in artifact.items)
            return Grid(("Item", "Done"), rows)
        case CitedValue():
            return Grid(("Value",), ((artifact.value,),))
        case Svg() | TextFile():
            return None
        case _:
            return grid(artifact)


def picture_of(artifact: Artifact, ui: Language | None = None) -> str | None:
    """Return the drawing of a chart, or a drawing as rebuilt, as SVG; None for anything else.

    A chart is in the language ``ui``, by default in that of its title.

    Raises:
        InvariantError: a chart cannot be drawn.
    """
    if isinstance(artifact, Svg):
        return artifact.content
    if isinstance(artifact, (Table, ItemList, Checklist, TextFile, CitedValue)):
        return None
    return to_svg(artifact, ui=ui or language_of(artifact.title))


def forms_of(artifact: Artifact) -> tuple[ArtifactFormat, ...]:
    """Return the forms that an artifact has."""
    if isinstance(artifact, TextFile):
        return ("txt", "json")
    if isinstance(artifact, Svg):
        return ("svg", "png", "json")
    if isinstance(artifact, (Table, ItemList, Checklist, CitedValue)):
        return ("csv", "xlsx", "json")
    return ("csv", "xlsx", "svg", "png", "json")


def csv_bytes(artifact: Artifact, payload: JsonObject) -> bytes | None:
    """Return the rows as CSV that a spreadsheet reads as data."""
    rows = grid_of(artifact)
    return None if rows is None else to_csv(rows).encode()


def svg_bytes(artifact: Artifact, payload: JsonObject) -> bytes | None:
    """Return the drawing as SVG."""
    drawn = picture_of(artifact)
    return None if drawn is None else drawn.encode()


def png_bytes(artifact: Artifact, payload: JsonObject) -> bytes | None:
    """Return the drawing as PNG on white paper."""
    return png_of(artifact)


def png_of(artifact: Artifact, ui: Language | None = None) -> bytes | None:
    """Return the picture of an artifact as PNG, on white paper; None for one without a picture.

    ``ui`` is as in `picture_of`. Raises what that and `to_png` raise.
    """
    drawn = picture_of(artifact, ui)
    return None if drawn is None else to_png(drawn, is_ours=not isinstance(artifact, Svg))


def text_bytes(artifact: Artifact, payload: JsonObject) -> bytes | None:
    """Return the text of a file."""
    return clean(artifact.content).encode() if isinstance(artifact, TextFile) else None


def json_bytes(artifact: Artifact, payload: JsonObject) -> bytes:
    """Return the stored JSON for people."""
    return pretty(shareable(artifact, payload))


def shareable(artifact: Artifact, payload: JsonObject) -> JsonObject:
    """Return an artifact's JSON. A drawing is the rebuilt one, never the model's markup."""
    return artifact.to_json() if isinstance(artifact, Svg) else payload


def pretty(value: JsonObject) -> bytes:
    """Return JSON with line breaks and a final one."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def to_png(drawn: str, sharpness: float = SHARPNESS, *, is_ours: bool = False) -> bytes:
    """Draw an SVG on white paper, at most 4,000 pixels a side. A chart of ours is drawn faster.

    Raises:
        MissingExtraError: the extra ``charts`` is not installed.
        InvariantError: it cannot be drawn.
    """
    root = ElementTree.fromstring(drawn)
    width, height = size_of(root)
    paper = ElementTree.Element(f"{{{_SVG}}}rect", _paper(root, width, height))
    root.insert(0, paper)
    root.attrib |= {"width": f"{width:g}", "height": f"{height:g}"}
    _name_known_fonts(root)
    scale = min(sharpness, _LARGEST / max(width, height))
    return rendered(ElementTree.tostring(root, encoding="unicode"), scale, is_ours=is_ours)


def _name_known_fonts(root: ElementTree.Element) -> None:
    """End each list of fonts with one that the renderer has: it leaves out text in any other."""
    root.set("font-family", root.get("font-family", "serif"))
    for element in root.iter():
        if families := element.get("font-family"):
            known = "serif" if families == "serif" else "Liberation Sans, sans-serif"
            element.set("font-family", f"{families}, {known}")


def size_of(root: ElementTree.Element) -> tuple[float, float]:
    """Return width and height of a drawing in pixels; without its own it fills a line."""
    own = [_number(root.get(name, "")) for name in ("width", "height")]
    box = [_number(part) for part in root.get("viewBox", "").replace(",", " ").split()]
    if all(own):
        return own[0], own[1]
    if len(box) == 4 and box[2] > 0 and box[3] > 0:
        return _FILLED, _FILLED * box[3] / box[2]
    return _FILLED, _FILLED / 2


def _paper(root: ElementTree.Element, width: float, height: float) -> dict[str, str]:
    box = root.get("viewBox", "").replace(",", " ").split()
    x, y, w, h = box if len(box) == 4 else ("0", "0", f"{width:g}", f"{height:g}")
    return {"x": x, "y": y, "width": w, "height": h, "fill": "#ffffff"}


def _number(text: str) -> float:
    try:
        return max(0.0, float(text.removesuffix("px")))
    except ValueError:
        return 0.0

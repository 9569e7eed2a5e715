"""Whether a table fits on a page: upright, turned to the side, or in small type."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from artificer.render.export.tree import classes, text_of

_UPRIGHT, _TURNED, _SMALL = 95, 160, 190
"""Characters that a row has room for: upright, turned to the side, and there in small type."""

_MANY = 8
"""A table with this many columns is turned in any case."""

_GAP = 2
_LONGEST = 24
"""A longer word of a text may be broken; a number is not, as long as there is any other way."""


def fit(root: Element) -> None:
    """Mark each table, and the block that it is in: ``landscape``, ``small``, ``breaks``.

    In a table that is not marked with the last, no number is broken.
    """
    for block in root.iter("div"):
        table = block.find(".//table")
        if table is not None and classes(block) & {"artifact", "data"}:
            marks = " ".join(_marks(table))
            for element in (block, table):
                element.set("class", f"{element.get('class', '')} {marks}".strip())


def _marks(table: Element) -> list[str]:
    rows = [list(row) for row in table.iter("tr")]
    columns = max(map(len, rows), default=0)
    longest = [0] * columns
    for row in rows:
        for index, cell in enumerate(row):
            words = [len(word) for word in text_of(cell).split(" ")]
            if max(words) > _LONGEST and "num" not in classes(cell):
                cell.set("class", f"{cell.get('class', '')} broken".strip())
                words = [_LONGEST]
            whole = sum(words) + len(words) - 1
            longest[index] = max(longest[index], whole if "num" in classes(cell) else max(words))
    needed = sum(longest) + _GAP * columns
    marks = ["landscape"] if columns >= _MANY or needed > _UPRIGHT else []
    marks += ["small"] if needed > _TURNED else []
    return [*marks, "breaks"] if needed > _SMALL else marks

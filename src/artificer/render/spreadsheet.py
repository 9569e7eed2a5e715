"""CSV that a spreadsheet program reads as data, never as formulas."""

from __future__ import annotations

import csv
import io
import json
import re

from artificer.artifacts.table import Cell
from artificer.render.charts.words import Grid
from artificer.render.text import clean

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*(e[+-]?\d+)?\s?%?", re.IGNORECASE | re.ASCII)


def to_csv(grid: Grid) -> str:
    """Return RFC 4180 text with a byte order mark, without which Excel takes UTF-8 for Latin-1.

    A text that a spreadsheet would run as a formula gets an apostrophe before it (OWASP, "CSV
    injection"); numbers stay numbers.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_safe(name) for name in grid.columns])
    writer.writerows([_plain(cell) for cell in row] for row in grid.rows)
    return "\ufeff" + out.getvalue()


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    return _safe(cell) if isinstance(cell, str) else json.dumps(cell)


def _safe(text: str) -> str:
    text = clean(text)
    return f"'{text}" if text.startswith(_DANGEROUS) and not _NUMBER.fullmatch(text) else text

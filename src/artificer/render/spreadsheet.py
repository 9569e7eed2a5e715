"""CSV that a spreadsheet reads as data, never as formulas."""

from __future__ import annotations

import csv
import io
import json
import re
from unicodedata import category, normalize

from artificer.artifacts.table import Cell
from artificer.render.charts.words import Grid
from artificer.render.text import clean

_DANGEROUS = ("=", "+", "-", "@")
_BLANK = ("\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*(e[+-]?\d+)?\s?%?", re.IGNORECASE | re.ASCII)
_SEPARATOR = re.compile(r"([;\t\r\n])")
"""Characters that end a cell in some spreadsheets, even inside quotes. Where the comma is the
decimal sign, Excel separates cells by semicolons."""

_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Characters of a letter category that are invisible."""


def to_csv(grid: Grid) -> str:
    """Return RFC 4180 text with a byte order mark; without it Excel reads UTF-8 as Latin-1.

    Every cell is quoted. Text that a spreadsheet would run as a formula gets a leading apostrophe
    (OWASP, "CSV injection"), even after a separator inside a cell. Numbers stay numbers, and so
    does text that is only a number, such as ``-5``.
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow([_safe(name) for name in grid.columns])
    writer.writerows([_plain(cell) for cell in row] for row in grid.rows)
    return "\ufeff" + out.getvalue()


def safe_cell(cell: Cell) -> str:
    """Return a cell of text whose cells are separated by tabs, and its rows by line ends."""
    return " ".join(_plain(cell).split())


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    return _safe(cell) if isinstance(cell, str) else json.dumps(cell)


def _safe(text: str) -> str:
    text = clean(text)
    guarded = "".join(f"'{part}" if _is_formula(part) else part for part in _SEPARATOR.split(text))
    return f"'{guarded}" if text.startswith(_BLANK) else guarded


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet could run the text as a formula.

    Full-width and small forms of a sign count as the sign; invisible characters before it are
    ignored.
    """
    if _NUMBER.fullmatch(text):
        return False
    first = next((c for c in text if not _is_invisible(c)), "")
    return normalize("NFKC", first).startswith(_DANGEROUS)


def _is_invisible(character: str) -> bool:
    return category(character)[0] in "CZM" or character in _FILLERS

"""Attached files as a page shows them: an image, a text, a table, or the first bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from markupsafe import Markup
from pygments.lexers import find_lexer_class_for_filename

from artificer.core.attachments import attached_to
from artificer.render.charts.words import Grid
from artificer.render.code import code_html
from artificer.runs import Run
from artificer.studio.grids import SortedGrid, choice_of, sorted_grid
from artificer.values.blocks import AttachedBlock, ImageBlock
from artificer.values.text import clip

MAX_FILES = 200
"""Files of a conversation that are listed."""

MAX_SHOWN = 100_000
"""Characters of a text that are shown."""

MAX_CSV_ROWS, MAX_CSV_COLUMNS, MAX_CSV_CELL = 500, 30, 500
"""Rows, columns and characters of a cell that are shown."""

MAX_CSV_TEXT = 1_000_000
"""Characters of a table that are read."""

MAX_PICTURE = 20_000_000
"""Bytes of an image that is shown."""

HEAD = 512
"""Bytes of any other file that are shown."""

PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""Types that are shown as images: none of them holds markup or a script."""


class AttachedFile(NamedTuple):
    """A file of a conversation, with a name for people."""

    name: str
    block: AttachedBlock


class FilePreview(NamedTuple):
    """The parts of a file's page. ``cut`` says what of it is not shown."""

    picture: bool = False
    grid: SortedGrid | None = None
    code: Markup | None = None
    text: str | None = None
    head: str = ""
    cut: str = ""


def attached_files(run: Run[Any]) -> list[AttachedFile]:
    """Return the files of a run's prompts and results, each once."""
    blocks = (block for message in run.state.history for block in attached_to(message))
    kept = {block.digest: block for block in blocks}
    named = (
        AttachedFile(block.name or f"{block.type} {number}", block)
        for number, block in enumerate(kept.values(), 1)
    )
    return list(islice(named, MAX_FILES))


def preview(file: AttachedFile, data: bytes, query: Mapping[str, str]) -> FilePreview:
    """Return the parts of a file's page. Its bytes decide, not only what it is called."""
    block = file.block
    if isinstance(block, ImageBlock) and block.media_type in PICTURES and len(data) <= MAX_PICTURE:
        return FilePreview(picture=True)
    text = _text(data)
    if block.media_type == "application/pdf" or text is None:
        cut = f"The first {HEAD} of {len(data):,} bytes." if len(data) > HEAD else ""
        return FilePreview(head="\n".join(_dump(data[:HEAD])), cut=cut)
    if block.media_type == "text/csv" or file.name.lower().endswith((".csv", ".tsv")):
        return _table(text, query)
    cut = (
        f"{len(text) - MAX_SHOWN:,} more characters are not shown." if len(text) > MAX_SHOWN else ""
    )
    shown = text[:MAX_SHOWN]
    if language := _language(file.name):
        return FilePreview(code=code_html(shown, language), cut=cut)
    return FilePreview(text=shown, cut=cut)


def _text(data: bytes) -> str | None:
    """Return the text that the bytes are, or None."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _language(name: str) -> str:
    """Return the language of a file by its name; nothing for plain text."""
    lexer = find_lexer_class_for_filename(name.rpartition("/")[2][-80:])
    found = lexer.aliases[0] if lexer and lexer.aliases else ""
    return "" if found == "text" else found


def _table(text: str, query: Mapping[str, str]) -> FilePreview:
    is_cut, text = len(text) > MAX_CSV_TEXT, text[:MAX_CSV_TEXT]
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    try:
        read = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = list(islice((row for row in read if row), MAX_CSV_ROWS + 2))
    except csv.Error:
        return FilePreview(text=text[:MAX_SHOWN])
    if not rows:
        return FilePreview(text=text[:MAX_SHOWN])
    width = min(max(map(len, rows)), MAX_CSV_COLUMNS)
    heads, *body = [[clip(c, MAX_CSV_CELL) for c in row[:width]] for row in rows]
    names = tuple(heads) + ("",) * (width - len(heads))
    cells = tuple(tuple(row) + (None,) * (width - len(row)) for row in body[:MAX_CSV_ROWS])
    grid = Grid(names, cells)
    is_cut = is_cut or len(body) > MAX_CSV_ROWS or any(len(row) > MAX_CSV_COLUMNS for row in rows)
    cut = f"Only {MAX_CSV_ROWS} rows and {MAX_CSV_COLUMNS} columns are shown." if is_cut else ""
    return FilePreview(grid=sorted_grid(grid, choice_of(query, width), {}), cut=cut)


def _dump(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        plain = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{at:06x}  {row.hex(' '):<47}  {plain}"

"""Positions of a narrative's text, tables and lists, by CommonMark with GFM tables.

Only positions are computed here; nothing is rendered. Markdown's block structure comes from
markdown-it-py, configured like the renderer (raw HTML off), whose tokens name lines. Code spans
have no positions there and are found by the rules of CommonMark 0.31 section 6.1.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

Span = tuple[int, int]
"""Code point offsets, the end exclusive."""

_LINE_END = re.compile(r"\r\n?|\n")
_PLAIN_LINE = re.compile(r"[ \t]*+|(?!\d+[.)])[^\W_][^\r\0`|]*+")
"""A blank line, or one of running text that begins with a letter or a digit: no list, no table, no
code, no heading. It cannot make a heading or a table of the line above it either.
"""
_PIPE = re.compile(r"\\[\s\S]|(\|)")
_ESCAPE_OR_TICKS = re.compile(r"\\[\s\S]|(`+)")
_TICKS = re.compile(r"`+")


class Layout(Struct, frozen=True):
    """The parts of a narrative.

    ``visible`` is its running text in order, without code blocks, code spans and link
    definitions. ``tables`` and ``lists`` are the outermost ones.
    """

    visible: tuple[Span, ...]
    tables: tuple[Span, ...]
    lists: tuple[Span, ...]


def layout(text: str) -> Layout:
    """Return the text, the tables and the lists, in time linear in the length of ``text``.

    Most answers are paragraphs and nothing else. The parser, which takes longer to import than
    such a run takes, is not needed for them.
    """
    return _paragraphs(text) or parsed(text)


def _paragraphs(text: str) -> Layout | None:
    """The layout of a text that is only paragraphs; None for any other, and where in doubt."""
    visible: list[Span] = []
    position, begun = 0, None
    for line in text.split("\n"):
        if not _PLAIN_LINE.fullmatch(line):
            return None
        if begun is None and line.strip(" \t"):
            begun = position
        elif begun is not None and not line.strip(" \t"):
            visible.append((begun, position))
            begun = None
        position += len(line) + 1
    if begun is not None:
        visible.append((begun, len(text)))
    return Layout(tuple(visible), (), ())


def parsed(text: str) -> Layout:
    """Return the layout of any text, as the Markdown parser finds it."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    tokens = _parser().parse(text)
    visible: list[Span] = []
    tables: list[Span] = []
    lists: list[Span] = []
    in_table, list_depth, last_row = False, 0, -1
    for token in tokens:
        span = _span(starts, token.map)
        if token.type == "table_open":
            in_table = True
            tables.append(span)
        elif token.type == "table_close":
            in_table = False
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            if not list_depth:
                lists.append(span)
            list_depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            list_depth -= 1
        elif token.type == "inline" and not in_table:
            visible.extend(_outside_code(text, span))
        elif token.type == "inline" and span[0] > last_row:
            last_row = span[0]
            for cell in _cells(text, span):
                visible.extend(_outside_code(text, cell))
    return Layout(tuple(visible), tuple(tables), tuple(lists))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _span(starts: list[int], lines: list[int] | None) -> Span:
    if lines is None:
        return (0, 0)
    last = len(starts) - 1
    return starts[min(lines[0], last)], starts[min(lines[1], last)]


def _cells(text: str, row: Span) -> Iterator[Span]:
    """Yield the cells of a table's row. A pipe separates them even in code, unless escaped."""
    start = row[0]
    for match in _PIPE.finditer(text, *row):
        if match.group(1):
            yield start, match.start()
            start = match.end()
    yield start, row[1]


def _outside_code(text: str, span: Span) -> Iterator[Span]:
    """Yield the parts of running text that are not in a code span."""
    runs: dict[int, list[int]] = {}
    for match in _TICKS.finditer(text, *span):
        runs.setdefault(len(match.group()), []).append(match.start())
    start = position = span[0]
    while found := _ESCAPE_OR_TICKS.search(text, position, span[1]):
        position = found.end()
        ticks = found.group(1)
        if ticks is None:
            # A backslash escapes one backtick; the rest of its run may open a span.
            continue
        closers = runs.get(len(ticks), [])
        index = bisect_left(closers, position)
        if index < len(closers):
            yield start, found.start()
            start = position = closers[index] + len(ticks)
    yield start, span[1]

"""Tables on stdout."""

from __future__ import annotations

import shutil
import sys

from artificer.cli.terminal.console import one_line, out

NARROWEST = 12
"""Characters that the last column keeps, however narrow the terminal is."""


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Write rows in columns as wide as they need to be; the last column is not padded.

    On a terminal, the last column is cut so that each row fits into one line.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns - sum(widths[:-1]) - 2 * len(widths[:-1])
        rows = [(*row[:-1], one_line(row[-1], max(room, NARROWEST))) for row in rows]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        out("  ".join([*cells, row[-1]]).rstrip())

"""Tables on stdout."""

from __future__ import annotations

from artificer.cli.terminal.console import out


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Write rows in columns as wide as they need to be; the last column is not padded."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        out("  ".join(cells).rstrip())

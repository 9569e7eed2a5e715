"""Showing the progress of long work on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from artificer.cli.settings import Settings
from artificer.cli.terminal.screen import new_screen
from artificer.runtime.progress import ReportProgress


@contextmanager
def working(settings: Settings) -> Iterator[ReportProgress]:
    """Yield what reports progress; it is shown in a last line, which goes when the work ends."""
    screen = new_screen(verbose=settings.verbose)

    def report(step: str, done: int, total: int) -> None:
        screen.forming(step, f"{done:,} of {total:,}" if total else f"{done:,}")

    try:
        yield report
    finally:
        screen.close()

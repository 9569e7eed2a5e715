"""Following a run: its progress on the screen, and how to continue it if it is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from artificer.cli.execution.progress import Progress
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import complain, note
from artificer.cli.terminal.screen import new_screen
from artificer.errors import ArtificerError, Fenced, OwnedError


@contextmanager
def following_run(settings: Settings) -> Iterator[Progress]:
    """Show a run's progress; if it is interrupted or fails, print how to resume it."""
    screen = new_screen(verbose=settings.verbose)
    progress = Progress(screen)
    try:
        yield progress
    except asyncio.CancelledError:
        screen.close()
        if progress.run:
            note(f"interrupted; resume with: artificer resume {progress.run}")
        else:
            complain("Interrupted before the run started.")
        raise
    except ArtificerError as error:
        screen.close()
        if progress.run and not isinstance(error, (Fenced, OwnedError)):  # another process has it
            note(f"the run is kept; resume with: artificer resume {progress.run}")
        raise
    finally:
        screen.close()

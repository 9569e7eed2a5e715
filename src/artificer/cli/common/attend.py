"""Attending a run from its first record to its outcome: what ``run`` and ``resume`` share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from artificer.cli.common.ask_here import approver_here
from artificer.cli.common.build_outcome import hand_over_build
from artificer.cli.common.drive import in_world
from artificer.cli.common.outcome import Wish, hand_over
from artificer.cli.common.progress import Progress
from artificer.cli.common.settings import Settings
from artificer.cli.terminal.console import complain, note
from artificer.cli.terminal.exits import Exit, Interrupted
from artificer.cli.terminal.screen import new_screen
from artificer.errors import ArtificerError, Fenced, OwnedError
from artificer.ports import Approver
from artificer.runs import Run
from artificer.world import World

FOLDER = click.Path(file_okay=False, path_type=Path)
MODEL_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

Begin = Callable[[World, Progress, Approver | None], Awaitable[Run]]
"""Begins a run, or goes on with one."""


COMPAT = click.option("--compat", is_flag=True, help="Read manifests as their reference does.")
UNATTENDED = click.option(
    "--unattended", is_flag=True, help="Refuse what policy asks about instead of waiting for you."
)


def attend(
    settings: Settings,
    begin: Begin,
    wish: Wish,
    local_model: Path | None = None,
    *,
    compat: bool = False,
    unattended: bool = False,
) -> Exit:
    """Show a run's progress, answer its questions, hand over its outcome.

    Raises:
        Interrupted: by a signal; how to go on has been told.
        ArtificerError: the run could not begin or go on.
    """
    screen = new_screen(verbose=settings.verbose)
    progress = Progress(screen)

    async def work(world: World) -> Exit:
        run = await begin(world, progress, approver_here(screen, unattended=unattended))
        screen.close()
        if run.state.build is not None:
            return hand_over_build(run, await world.tree(run.id), progress.failure, wish)
        return hand_over(world, run, progress.failure, wish)

    try:
        return in_world(settings, work, local_model=local_model, compat=compat)
    except Interrupted:
        screen.close()
        if progress.run:
            note(f"interrupted; resume with: artificer resume {progress.run}")
        else:
            complain("Interrupted before the run began.")
        raise
    except ArtificerError as error:
        screen.close()
        if progress.run and not isinstance(error, Fenced | OwnedError):  # another has it
            note(f"the run is kept; resume with: artificer resume {progress.run}")
        raise
    finally:
        screen.close()

"""``artificer import``: add a run from a file."""

from __future__ import annotations

from pathlib import Path

from artificer.cli.commands.recordings import ImportOptions
from artificer.cli.interruptible import interrupted_at_once
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.errors import TamperedError
from artificer.recordings.file import read_file
from artificer.world import World


async def import_run(settings: Settings, options: ImportOptions) -> Exit:
    """Add the run and print its id."""
    async with opened_world(settings) as world:
        run = await _imported(world, options.file)
        status = (await world.get(run)).status
    out(run)
    if status in ("open", "stalled"):
        note(
            "The run is not finished. Its policy and its pending calls come from the file: "
            "resume it only if you trust its author."
        )
    return Exit.OK


async def _imported(world: World, file: Path) -> str:
    """Add the run and return its id. Raises TamperedError, which names the file."""
    try:
        with interrupted_at_once():
            data = read_file(file)
        return await world.import_run(data)
    except TamperedError as error:
        error.message = f"{file}: {error.message}"
        raise

"""``artificer import``: add a run from a file."""

from __future__ import annotations

from artificer.cli.commands.recordings import ImportOptions
from artificer.cli.interruptible import interruptible
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.recordings.file import read_file


@interruptible
async def import_run(settings: Settings, options: ImportOptions) -> Exit:
    """Add the run and print its id."""
    async with opened_world(settings) as world:
        run = await world.import_run(read_file(options.file))
        status = (await world.get(run)).status
    out(run)
    if status in ("open", "stalled"):
        note(
            "The run is not finished. Its policy and its pending calls come from the file: "
            "resume it only if you trust its author."
        )
    return Exit.OK

"""``artificer import``: a run from a file."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.common.drive import in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.recordings.recording import read_file
from artificer.world import World


@click.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@pass_settings
def command(settings: Settings, file: Path) -> int:
    """Add the run of FILE to this project, if it replays, and print its id.

    Nothing of the file is executed, and nothing of it names a path. A run that is here already
    stays as it is.

    \b
    Example:
      artificer import bug.run.gz
      artificer show last
    """

    async def work(world: World) -> Exit:
        run = await world.import_run(read_file(file))
        out(run)
        if (await world.get(run)).run.status in ("open", "stalled"):
            note(
                "It is not finished. Its policy and its pending calls are those of the file: "
                "resume it only if you trust who wrote it."
            )
        return Exit.OK

    return in_world(settings, work)

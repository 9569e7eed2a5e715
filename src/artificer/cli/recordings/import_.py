"""``artificer import``: add a run from a file."""

from __future__ import annotations

from pathlib import Path

from artificer.cli.commands.recordings import ImportOptions
from artificer.cli.configuration import configuration
from artificer.cli.interruptible import interrupted_at_once
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.config import Config
from artificer.errors import TamperedError
from artificer.recordings.file import read_file
from artificer.recordings.recording import Recording
from artificer.wiring.recordings import checked_recording
from artificer.world import World, import_checked


async def import_run(settings: Settings, options: ImportOptions) -> Exit:
    """Add the run and print its id. A file that is refused creates no world."""
    config = configuration(settings)
    recording = await _checked(config, options.file)
    async with World.open(config) as world:
        run = await import_checked(world, recording)
        status = (await world.get(run)).status
    out(run)
    if status in ("open", "stalled"):
        note(
            "The run is not finished. Its policy and its pending calls come from the file: "
            "resume it only if you trust its author."
        )
    return Exit.OK


async def _checked(config: Config, file: Path) -> Recording:
    """Read the run and replay it. Raises TamperedError, which names the file."""
    try:
        with interrupted_at_once():
            data = read_file(file)
        return await checked_recording(data, config)
    except TamperedError as error:
        error.message = f"{file}: {error.message}"
        raise

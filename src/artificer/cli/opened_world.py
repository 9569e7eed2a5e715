"""Opening the world of a command that executes runs or changes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from artificer.archive import Archive
from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.world import World


@asynccontextmanager
async def opened_world(
    settings: Settings, execution: ExecutionOptions | None = None
) -> AsyncIterator[World]:
    """Open this project's world; it is created if it does not exist."""
    async with World.open(configuration(settings, execution)) as world:
        yield world


@asynccontextmanager
async def opened_run(
    settings: Settings, word: str, execution: ExecutionOptions | None = None
) -> AsyncIterator[tuple[World, str]]:
    """Open this project's world and provide it with the id of the run that ``word`` names.

    It is found before the world is opened for writing, so a wrong name creates nothing.
    Raises NotFoundError.
    """
    config = configuration(settings, execution)
    async with Archive.open(config) as archive:
        run_id = await archive.find(word)
    async with World.open(config) as world:
        yield world, run_id

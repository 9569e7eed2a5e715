"""Opening the world of a command that executes runs or changes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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

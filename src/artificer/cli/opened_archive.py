"""Opening the world of a command that only reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from artificer.archive import Archive
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings


@asynccontextmanager
async def opened_archive(settings: Settings) -> AsyncIterator[Archive]:
    """Open this project's world to read it; nothing in it is created or changed."""
    async with Archive.open(configuration(settings)) as archive:
        yield archive

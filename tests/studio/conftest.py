"""A studio over a world in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from studio_kit import Studio, serving

from artificer.world import World


@pytest.fixture
async def served() -> AsyncIterator[Studio]:
    """A studio over an empty world in memory."""
    async with World.in_memory() as world, serving(world) as studio:
        yield studio

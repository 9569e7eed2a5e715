"""A studio over a world in memory, and a browser to look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from studio_kit import Studio, browsing, http_client, serving

from artificer.world import World


@pytest.fixture
async def served() -> AsyncIterator[Studio]:
    """A studio over an empty world in memory."""
    async with World.in_memory() as world, serving(world) as studio:
        yield studio


@pytest.fixture
async def client(served: Studio) -> AsyncIterator[httpx.AsyncClient]:
    """A program that has opened the studio with its key."""
    async with http_client(served.url) as client:
        await client.get("/", params={"key": served.key})
        yield client


@pytest.fixture
async def page() -> AsyncIterator[Any]:
    """A page of a browser that fails the test for any message on its console."""
    async with browsing() as browser:
        yield await browser.new_page()

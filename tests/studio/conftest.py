"""A studio over a world in memory, and a browser to look at it.

The tests of the studio run in one event loop, so that those of a worker share a browser.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from pytest_asyncio import is_async_test
from studio_kit import Browser, Studio, browsing, chromium, fixture, http_client, serving

from artificer.world import World


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of the studio in one loop."""
    shared = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if item.nodeid.startswith("tests/studio/") and is_async_test(item):
            item.add_marker(shared, append=False)


@fixture
async def served() -> AsyncIterator[Studio]:
    """A studio over an empty world in memory."""
    async with World.in_memory() as world, serving(world) as studio:
        yield studio


@fixture
async def client(served: Studio) -> AsyncIterator[httpx.AsyncClient]:
    """A program that has opened the studio with its key."""
    async with http_client(served.url) as client:
        await client.get("/", params={"key": served.key})
        yield client


@fixture(scope="session")
async def started_browser() -> AsyncIterator[Any]:
    """The browser of all tests of a worker."""
    async with chromium() as started:
        yield started


@fixture
async def browser(started_browser: Any) -> AsyncIterator[Browser]:
    """A browser that fails the test for any message on the consoles of its pages."""
    async with browsing(started_browser) as browser:
        yield browser


@fixture
async def page(browser: Browser) -> Any:
    """A page of the browser."""
    return await browser.new_page()

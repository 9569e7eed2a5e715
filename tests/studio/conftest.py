"""A studio over a world in memory, and a browser to look at it."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from studio_kit import Studio, serving

from artificer.backends.browser.window import PROGRAMS
from artificer.world import World
from needs import has, reason

ANSWERED = r"the server responded with a status of 4(00|09)"
"""A browser's own remark about a form that was refused."""


@pytest.fixture
async def served() -> AsyncIterator[Studio]:
    """A studio over an empty world in memory."""
    async with World.in_memory() as world, serving(world) as studio:
        yield studio


@pytest.fixture
async def client(served: Studio) -> AsyncIterator[httpx.AsyncClient]:
    """A program that has opened the studio with its key."""
    async with httpx.AsyncClient(base_url=served.url) as client:
        await client.get("/", params={"key": served.key})
        yield client


@pytest.fixture
async def page() -> AsyncIterator[Any]:
    """A page of a browser that fails the test for any message on its console."""
    playwright = pytest.importorskip("playwright.async_api", reason=reason("playwright"))
    if not has("chromium"):
        pytest.skip(reason("chromium"))
    program = next(path for path in map(shutil.which, PROGRAMS) if path)
    async with playwright.async_playwright() as browsers:
        browser = await browsers.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = await browser.new_page()
        page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        yield page
        await browser.close()
        assert [line for line in said if not re.search(ANSWERED, line)] == []

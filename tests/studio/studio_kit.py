"""A studio on a port of its own, over a world in memory or in a folder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import pytest
import pytest_asyncio
from uvicorn import Config, Server

from artificer.backends.browser.window import browser_program
from artificer.cli.execution.listening import listen
from artificer.dispatch.agents import NO_AGENTS, Agents
from artificer.studio.access import Access
from artificer.studio.app import studio
from artificer.studio.exports import Exports
from artificer.studio.identity import ProxyIdentity
from artificer.studio.tokens import ApiTokens
from artificer.world import World
from needs import has, reason

fixture: Any = partial(pytest_asyncio.fixture, loop_scope="session")
"""A fixture in the loop in which all tests of the studio run (conftest.py)."""

PATIENCE = 120_000
"""Milliseconds until a page is wrong: a busy machine is slow, not wrong."""

USUAL: Any = {"width": 1280, "height": 720}
"""The size of a window, as Playwright opens it."""

FLAGS = [
    "--no-sandbox",
    "--js-flags=--no-opt --no-maglev",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--in-process-gpu",
    "--renderer-process-limit=1",
]
"""Of the browser: no page lives so long that compiling its scripts once more would pay."""

REMARKS = (
    r"responded with a status of 4(00|09)|net::ERR_(CONNECTION|INCOMPLETE|EMPTY|FAILED|NETWORK)"
)
"""The browser's own remarks on a form that was refused, and on a studio that has stopped."""


class Studio:
    """A served studio. ``url`` has no slash at its end; ``key`` opens it."""

    def __init__(self, world: World, port: int, access: Access, exports: Exports) -> None:
        self.world = world
        self.port = port
        self.access = access
        self.key = access.key
        self.url = f"http://127.0.0.1:{port}"
        self.exports = exports
        self.jobs: Any = None
        """The jobs of its world."""
        self.empty: Studio | None = None
        """Another one, over a world without runs and models."""

    async def left(self, run: str) -> None:
        """Wait until the studio does not execute a run any more, as after a decision about it."""
        tasks = [task for task in asyncio.all_tasks() if task.get_name() == f"studio {run}"]
        if tasks:
            await asyncio.wait(tasks)


@asynccontextmanager
async def serving(
    world: World,
    *,
    tokens: ApiTokens | None = None,
    identity: ProxyIdentity | None = None,
    agents: Agents = NO_AGENTS,
) -> AsyncIterator[Studio]:
    """Serve a world as the command does."""
    listening = listen("The studio", "127.0.0.1", 0)
    port = listening.getsockname()[1]
    access = Access("Ada", tokens=tokens, identity=identity)
    app = studio(world, access, [f"127.0.0.1:{port}"], agents)
    config = Config(
        app,
        proxy_headers=False,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        served = Studio(world, port, access, app.state.studio.exports)
        served.jobs = app.state.studio.jobs
        yield served
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def chromium() -> AsyncIterator[Any]:
    """Start a browser."""
    playwright = pytest.importorskip("playwright.async_api", reason=reason("playwright"))
    if not has("chromium"):
        pytest.skip(reason("chromium"))
    async with playwright.async_playwright() as browsers:
        browser = await browsers.chromium.launch(executable_path=browser_program(), args=FLAGS)
        yield Windows(browser)
        await browser.close()


@asynccontextmanager
async def browsing(windows: Windows) -> AsyncIterator[Browser]:
    """Browse in a started browser. Any message on the console of a page fails the test."""
    browser = Browser(windows)
    try:
        yield browser
    finally:
        await browser.aclose()
    assert [line for line in browser.said if not re.search(REMARKS, line)] == []


def http_client(base_url: str, **options: Any) -> httpx.AsyncClient:
    """Return the client of a program, which is as patient as a page.

    It speaks with this machine only, in the clear, and so reads no certificates, which takes 20 ms.
    """
    return httpx.AsyncClient(base_url=base_url, timeout=PATIENCE / 1000, verify=False, **options)


class Windows:
    """The windows of a started browser, which takes longer to open one than to show a page."""

    def __init__(self, started: Any) -> None:
        self._started = started
        self._empty: list[Any] = []

    async def take(self) -> Any:
        """Return an empty page, whose cookies are its own."""
        if self._empty:
            return self._empty.pop()
        context = await self._started.new_context(viewport=USUAL)
        context.set_default_timeout(PATIENCE)
        return await context.new_page()

    async def empty(self, page: Any) -> None:
        """Keep a window for others, as if it had just been opened."""
        context = page.context
        for other in context.pages:
            if other is not page:
                await other.close()
        await page.unroute_all()
        await page.goto("about:blank")
        if not await page.evaluate("/native code/.test(setTimeout)"):  # a test's clock stays
            await context.close()
            return
        await page.emulate_media(media="null", color_scheme="null", reduced_motion="null")
        await page.set_viewport_size(USUAL)
        await context.clear_permissions()
        await context.clear_cookies()
        self._empty.append(page)


class Browser:
    """Pages of a browser, and what their consoles said."""

    def __init__(self, windows: Windows) -> None:
        self.said: list[str] = []
        self._windows = windows
        self._pages: list[Any] = []

    async def new_page(self) -> Any:
        """Open a page with cookies of its own."""
        page = await self._windows.take()
        self._pages.append(page)
        page.on("console", self._hear)
        page.on("pageerror", self._hear)
        return page

    async def aclose(self) -> None:
        """Leave all pages."""
        for page in self._pages:
            await self._windows.empty(page)
            page.remove_listener("console", self._hear)
            page.remove_listener("pageerror", self._hear)

    def _hear(self, said: Any) -> None:
        self.said.append(getattr(said, "text", None) or str(said))


def expect(locator: Any) -> Any:
    """Return Playwright's assertions, which wait: a page may still be the one before."""
    from playwright.async_api import expect as playwright_expect

    playwright_expect.set_options(timeout=PATIENCE)
    return playwright_expect(locator)


async def entered(page: Any, studio: Studio) -> None:
    """Open the studio in a browser, with its key, and before it the empty one."""
    for place in filter(None, (studio.empty, studio)):
        await page.goto(f"{place.url}/?key={place.key}")

"""A Chromium with one page, through Playwright: what can be done there, and nothing beside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from artificer.contracts.keys.browser import Action, BrowserKeys
from artificer.errors import MissingExtraError, NotFoundError
from artificer.tools.browser_proxy import ScopeProxy
from artificer.values.base import JsonObject

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Playwright, Request, Route

T = TypeVar("T")

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

CLOSE_SECONDS = 3.0
"""Seconds that a browser gets to close."""

ELEMENT_MS = 5_000
"""Milliseconds in which an element must be there, and ready for the action."""

LEADS_SECONDS = 1.0
"""Seconds after which a click is taken to lead to no other page."""

_FLAGS = (
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-first-run",
)

_IS_SUBMITTER = """e => {
  const button = e.closest('button, input');
  return !!(button && button.form && ['submit', 'image'].includes(button.type));
}"""
_SUBMIT = """e => {
  const form = e.form || e.closest('form');
  if (!form) return false;
  form.requestSubmit();
  return true;
}"""


class ActionError(Exception):
    """An action that cannot be performed; the message says why, in a sentence."""


class BrowserPage:
    """Call :meth:`open` first and :meth:`close` last."""

    def __init__(self, keys: BrowserKeys, env: Mapping[str, str], seconds: int) -> None:
        self._keys = keys
        self._env = dict(env)
        self._seconds = seconds
        self._proxy = ScopeProxy(keys.scope)
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._page: Page | None = None
        self._may_submit = False
        self._asked: set[str] = set()

    async def open(self) -> None:
        """Start the browser. Raises MissingExtraError, NotFoundError, ActionError."""
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise MissingExtraError("browser", needed_for="Browsing") from error
        program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
        if program is None:
            raise NotFoundError("There is no Chromium here.", hint="apt install chromium")
        self._playwright = await async_playwright().start()
        try:
            self._browser = await self._playwright.chromium.launch(
                executable_path=program,
                headless=self._keys.headless,
                env=dict(self._env),
                proxy={"server": await self._proxy.start(), "bypass": "<-loopback>"},
                args=[*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])],
            )
            context = await self._browser.new_context(
                service_workers="block", accept_downloads=False
            )
            await context.route("**/*", self._judge)
            context.on("request", lambda request: self._asked.add(_host(request.url)))
            self._page = await context.new_page()
            context.on("page", lambda page: asyncio.ensure_future(page.close()))
        except Error as error:
            raise ActionError(f"The browser cannot be started: {_sentence(error)}") from error
        self._page.set_default_timeout(ELEMENT_MS)
        self._page.set_default_navigation_timeout(self._seconds * 1000)

    async def close(self) -> None:
        """End the browser. Not cut short by what it does meanwhile."""
        for ending in (
            self._browser.close() if self._browser else None,
            self._playwright.stop() if self._playwright else None,
        ):
            if ending is not None:
                with contextlib.suppress(Exception):  # whatever is wrong with it: it is over
                    await asyncio.wait_for(ending, CLOSE_SECONDS)
        self._browser = self._playwright = self._page = None
        await self._proxy.aclose()

    @property
    def is_alive(self) -> bool:
        """Whether the browser is still there."""
        return self._browser is not None and self._browser.is_connected()

    async def where(self) -> tuple[str, str]:
        """The page's address and title."""
        if self._page is None:
            return "", ""
        return self._page.url, await self._page.title()

    def take_refused(self) -> dict[str, str]:
        """The hosts that pages asked for in vain since this was last called.

        The proxy refuses more: Chromium calls its maker's services on its own.
        """
        refused, asked = self._proxy.take_refused(), self._asked
        self._asked = set()
        return {host: reason for host, reason in refused.items() if host in asked}

    async def act(self, action: Action, given: JsonObject) -> str | bytes | None:
        """Perform an action: returns what was read, or a picture. Raises ActionError."""
        from playwright.async_api import Error

        page = self._page
        if page is None:
            raise ActionError("There is no page.")
        self._may_submit = action in ("submit", "script")
        try:
            return await self._act(page, action, given)
        except Error as error:
            raise ActionError(_sentence(error)) from error
        finally:
            self._may_submit = False

    async def _act(self, page: Page, action: Action, given: JsonObject) -> str | bytes | None:
        selector = str(given.get("selector", "body"))
        element = page.locator(selector).first
        match action:
            case "navigate":
                response = await page.goto(str(given["url"]))
                return f"HTTP status {response.status}" if response else None
            case "click":
                if await element.evaluate(_IS_SUBMITTER):
                    raise ActionError("Not clicked: this sends a form; use submit.")
                await _follow(page, element.click())
            case "type":
                await element.fill(str(given["text"]))
            case "submit":
                if not await _follow(page, element.evaluate(_SUBMIT)):
                    raise ActionError("This element belongs to no form.")
            case "screenshot":
                return await page.screenshot()
            case "script":
                value = await page.evaluate(str(given["code"]))
                return json.dumps(value, ensure_ascii=False, default=str)
            case "extract":
                mode = given.get("mode", self._keys.extract_mode)
                if mode == "html":
                    whole = "selector" not in given
                    return await (page.content() if whole else element.inner_html())
                return await (element.inner_text() if mode == "text" else element.aria_snapshot())
        return None

    async def _judge(self, route: Route) -> None:
        """Let no form be sent but by an action that may, and no address but the web's be opened."""
        request = route.request
        sends = request.is_navigation_request() and request.method not in ("GET", "HEAD")
        web = request.url.startswith(("http://", "https://", "data:", "blob:", "about:"))
        with contextlib.suppress(Exception):  # the page may be gone
            if (sends and not self._may_submit) or not web:
                await route.abort("blockedbyclient")
            else:
                await route.continue_()


async def _follow(page: Page, doing: Awaitable[T]) -> T:
    """Do something that may lead to another page, and wait until that is there."""
    asked, arrived = asyncio.Event(), asyncio.Event()

    def ask(request: Request) -> None:
        if request.is_navigation_request():
            asked.set()

    def arrive(_: object) -> None:
        arrived.set()

    page.on("request", ask)
    page.on("framenavigated", arrive)
    page.on("requestfailed", arrive)
    try:
        result = await doing
        with contextlib.suppress(TimeoutError):  # it led nowhere, or to no page
            await asyncio.wait_for(asked.wait(), LEADS_SECONDS)
            await asyncio.wait_for(arrived.wait(), ELEMENT_MS / 1000)
    finally:
        page.remove_listener("request", ask)
        page.remove_listener("framenavigated", arrive)
        page.remove_listener("requestfailed", arrive)
    await page.wait_for_load_state()
    return result


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _sentence(error: Exception) -> str:
    """The first line of a Playwright error: the rest is its log."""
    return str(error).partition("\n")[0][:500]

"""A page of a Chromium, through Playwright: its life, and what may leave it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from artificer.backends.browser.proxy import ScopeProxy
from artificer.backends.browser.spec.keys import BrowserKeys, StateField
from artificer.backends.browser.window import attach, launch
from artificer.errors import MissingExtraError
from artificer.values.base import JsonObject, JsonValue

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Playwright, Route

T = TypeVar("T")

CLOSE_SECONDS = 3.0
"""Seconds that a browser gets to close."""

DRIVER_SECONDS = 20.0
"""Seconds in which the browser's driver has started, on any machine: only then it can be ended."""

ELEMENT_MS = 5_000
"""Milliseconds in which an element must be there, and ready for the action."""

_LOADED = "() => document.readyState === 'complete'"


class ActionError(Exception):
    """An action that cannot be performed; the message says why, in a sentence."""


class BrowserPage:
    """Call :meth:`open` first and :meth:`close` last.

    ``live`` is where the running browser is found, for manifests that want that one.
    """

    def __init__(
        self, keys: BrowserKeys, env: Mapping[str, str], seconds: int, live: str = ""
    ) -> None:
        self._keys = keys
        self._env = dict(env)
        self._seconds = seconds
        self._live = live
        self._proxy = ScopeProxy(keys.scope)
        self._driver: asyncio.Task[Playwright] | None = None
        self._browser: Browser | None = None
        self._page: Page | None = None
        self._may_submit = False
        self._requested: set[str] = set()

    async def open(self) -> None:
        """Start the browser, or get a page in it. Raises MissingExtraError, NotFoundError,
        ActionError.
        """
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise MissingExtraError("browser", needed_for="Browsing") from error
        self._driver = asyncio.ensure_future(async_playwright().start())
        playwright = await asyncio.shield(self._driver)  # cut short, it would leave a process
        proxy = await self._proxy.start()
        try:
            if self._keys.connect == "live":
                found = await attach(playwright, self._keys, self._live, proxy)
            else:
                found = await launch(playwright, self._keys, self._env, proxy)
            self._browser, context = found
            self._page = await self._first_page(context)
        except Error as error:
            what = f"reached at {self._live}" if self._keys.connect == "live" else "started"
            raise ActionError(f"The browser cannot be {what}: {sentence(error)}") from error

    async def _first_page(self, context: BrowserContext) -> Page:
        await context.route("**/*", self._judge)
        context.on("request", lambda request: self._requested.add(_host(request.url)))
        page = await context.new_page()
        context.on("page", lambda other: asyncio.ensure_future(other.close()))
        page.set_default_timeout(ELEMENT_MS)
        page.set_default_navigation_timeout(self._seconds * 1000)
        return page

    async def close(self) -> None:
        """End the browser; one that was running before continues without our page. Not cut short by
        what it does meanwhile.
        """
        with contextlib.suppress(Exception):  # whatever is wrong with it: it has ended
            if self._browser is not None:
                await asyncio.wait_for(self._browser.close(), CLOSE_SECONDS)
        with contextlib.suppress(Exception):
            if self._driver is not None:
                playwright = await asyncio.wait_for(self._driver, DRIVER_SECONDS)
                await asyncio.wait_for(playwright.stop(), CLOSE_SECONDS)
        self._browser = self._driver = self._page = None
        await self._proxy.aclose()

    @property
    def is_alive(self) -> bool:
        """Whether the browser is still there."""
        return self._browser is not None and self._browser.is_connected()

    async def where(self) -> tuple[str, str]:
        """The page's address and title."""
        return await self.on_page(_where) if self._page else ("", "")

    async def state(self, authenticated: frozenset[str]) -> JsonObject:
        """Return the parts of the page's state that the manifest lists. ``authenticated`` are the
        hosts where a login of ours has succeeded.
        """
        wanted = self._keys.state.fields if self._keys.state else ()
        if not wanted:
            return {}
        url, title = await self.where()
        facts: dict[StateField, JsonValue] = {
            "url": url,
            "title": title,
            "domain": _host(url),
            "has_forms": await self.on_page(lambda page: page.locator("form").count()) > 0,
            "is_authenticated": _host(url) in authenticated,
            "page_loaded": bool(await self.on_page(lambda page: page.evaluate(_LOADED))),
            "tab_count": 1,
        }
        return {name: facts[name] for name in wanted}

    async def picture(self) -> bytes:
        """The page as it is seen. Raises ActionError."""
        return await self.on_page(lambda page: page.screenshot())

    def take_refused(self) -> dict[str, str]:
        """The hosts that pages requested in vain since this was last called.

        The proxy refuses more: Chromium calls its maker's services on its own.
        """
        refused, requested = self._proxy.take_refused(), self._requested
        self._requested = set()
        return {host: reason for host, reason in refused.items() if host in requested}

    async def on_page(
        self, doing: Callable[[Page], Awaitable[T]], *, may_submit: bool = False
    ) -> T:
        """Do something with the page; only with ``may_submit`` may a form be sent meanwhile.

        Raises ActionError when that fails.
        """
        from playwright.async_api import Error

        if self._page is None:
            raise ActionError("There is no page.")
        self._may_submit = may_submit
        try:
            return await doing(self._page)
        except Error as error:
            raise ActionError(sentence(error)) from error
        finally:
            self._may_submit = False

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


async def _where(page: Page) -> tuple[str, str]:
    return page.url, await page.title()


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


_NO_SANDBOX = (
    "Chromium cannot set up its sandbox here. Allow unprivileged user namespaces, or install "
    "Debian's chromium-sandbox"
)


def sentence(error: Exception) -> str:
    """The first line of a Playwright error: the rest is its log."""
    text = str(error)
    if "sandboxing failed" in text:  # which only the log says
        return _NO_SANDBOX
    return text.partition("\n")[0][:500]

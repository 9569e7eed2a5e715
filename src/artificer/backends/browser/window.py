"""Getting an empty page behind the proxy: of a Chromium that is started, or of a running one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from artificer.backends.browser.spec.keys import BrowserKeys, BrowserScopeKeys
from artificer.backends.browser.spec.scope import host_refusal, place_in, takes_cookie
from artificer.errors import NotFoundError

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_WITHOUT_WINDOWS = "chromium-headless-shell"
"""Chromium without everything that a window needs: it starts and draws in less time."""

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

_NO_WEBRTC = "delete window.RTCPeerConnection; delete window.webkitRTCPeerConnection;"
"""It would go past the proxy, and a running browser cannot be configured otherwise."""

_STORED = "() => Object.entries(localStorage).map(([name, value]) => ({name, value}))"


def browser_program(*, headless: bool = True) -> str | None:
    """Return the path of the browser to start, with windows unless it is to be ``headless``."""
    names = (_WITHOUT_WINDOWS, *_PROGRAMS) if headless else _PROGRAMS
    return next((found for name in names if (found := shutil.which(name))), None)


async def launch(
    playwright: Playwright, keys: BrowserKeys, env: Mapping[str, str], proxy: str
) -> tuple[Browser, BrowserContext]:
    """Start a browser. Raises NotFoundError if there is none, and Playwright's Error."""
    program = browser_program(headless=keys.headless)
    if program is None:
        raise NotFoundError("Chromium is not installed.", hint="apt install chromium")
    browser = await playwright.chromium.launch(
        executable_path=program,
        headless=keys.headless,
        env=dict(env),
        proxy={"server": proxy, "bypass": "<-loopback>"},
        args=_FLAGS,
        chromium_sandbox=os.geteuid() != 0,  # which root cannot have, and Playwright leaves off
    )
    context = await browser.new_context(service_workers="block", accept_downloads=False)
    return browser, context


async def attach(
    playwright: Playwright, keys: BrowserKeys, address: str, proxy: str
) -> tuple[Browser, BrowserContext]:
    """Get a context of one's own in a running browser, with what its user is logged in with at the
    hosts of the scope. Its user's own pages are neither changed nor shown.

    Raises Playwright's Error, when there is no browser at the address most of all.
    """
    browser = await playwright.chromium.connect_over_cdp(address, no_defaults=True)
    held: Any = await _held(browser, keys.scope)
    context = await browser.new_context(
        proxy={"server": proxy, "bypass": "<-loopback>"},
        storage_state=held,
        service_workers="block",
        accept_downloads=False,
    )
    await context.add_init_script(_NO_WEBRTC)
    return browser, context


async def _held(browser: Browser, scope: BrowserScopeKeys) -> dict[str, Any]:
    """The user's cookies of hosts in scope, and what open pages of such hosts have stored."""
    cookies: list[Any] = []
    origins: dict[str, list[Any]] = {}
    named = scope.replace(allow_external=False)
    for context in browser.contexts:
        cookies += [c for c in await context.cookies() if takes_cookie(scope, c["domain"])]
        for page in context.pages:
            parts = urlsplit(page.url)
            refusal = host_refusal(named, *place_in(page.url))
            if parts.scheme in ("http", "https") and refusal is None:
                stored = await page.evaluate(_STORED)
                origins[f"{parts.scheme}://{parts.netloc}"] = stored
    listed = [{"origin": origin, "localStorage": stored} for origin, stored in origins.items()]
    return {"cookies": cookies, "origins": listed}

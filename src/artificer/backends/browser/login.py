"""Logging in for a run: with secrets that no model sees, at a page that the manifest names."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from artificer.backends.browser.actions import submit
from artificer.backends.browser.page import ActionError
from artificer.backends.browser.spec.flows import secrets_of
from artificer.backends.browser.spec.keys import AuthFlowKeys
from artificer.backends.browser.totp import totp

if TYPE_CHECKING:
    from playwright.async_api import Page

SUCCESS_MS = 10_000
"""Milliseconds in which a login must show that it has succeeded."""


async def log_in(page: Page, flow: AuthFlowKeys, secrets: Mapping[str, str]) -> None:
    """Log in. When that fails, the page is left empty: what was typed must not stand there.

    ``secrets`` are those of ``secrets_of``. Raises ActionError, and Playwright's Error.
    """
    try:
        await _log_in(page, flow, secrets)
    except Exception:  # of any kind; a cancellation ends the browser with its page
        await page.goto("about:blank")
        raise


async def _log_in(page: Page, flow: AuthFlowKeys, secrets: Mapping[str, str]) -> None:
    username, password, *seed = (secrets[name] for name in secrets_of(flow))
    await page.goto(flow.login_url)
    await page.locator(flow.username_selector).first.fill(username)
    await page.locator(flow.password_selector).first.fill(password)
    await submit(page, page.locator(flow.submit_selector).first)
    if seed:
        field = page.locator(flow.mfa_selector).first
        try:
            await field.fill(totp(seed[0], time.time()))
        except ValueError as error:
            raise ActionError(f"Not logged in: the second factor cannot be made: {error}") from None
        await submit(page, field)
    await _succeeded(page, flow)


async def _succeeded(page: Page, flow: AuthFlowKeys) -> None:
    from playwright.async_api import Error

    kind, _, sought = flow.success_indicator.partition("=")
    try:
        match kind:
            case "url_contains":
                await page.wait_for_url(lambda url: sought in url, timeout=SUCCESS_MS)
            case "element":
                await page.locator(sought).first.wait_for(timeout=SUCCESS_MS)
            case _:
                names = [cookie.get("name") for cookie in await page.context.cookies(page.url)]
                if sought not in names:
                    raise ActionError(f"there is no cookie {sought!r}")
    except (ActionError, Error) as error:
        what = f"{flow.success_indicator!r} did not come true"
        raise ActionError(f"Not logged in: {what}.") from error

"""Performing the actions on a page."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from artificer.backends.browser.page import ELEMENT_MS, ActionError
from artificer.backends.browser.spec.actions import FOCUSED
from artificer.backends.browser.spec.keys import Action
from artificer.values.base import JsonValue

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page, Request

T = TypeVar("T")

SUBMITS: tuple[Action, ...] = ("submit_form", "execute_js")
"""Actions during which a form may be sent."""

STEP = 100
"""Pixels of one step of scrolling."""

MAX_RESOURCES = 200
"""Resources of a page whose timing is listed."""

LEADS_SECONDS = 1.0
"""Seconds after which a click is taken to lead to no other page."""

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
_TIMING = """limit => performance.getEntriesByType('navigation')
  .concat(performance.getEntriesByType('resource')).slice(0, limit).map(e => ({
    url: e.name, kind: e.initiatorType || e.entryType, start_ms: Math.round(e.startTime),
    duration_ms: Math.round(e.duration), bytes: e.transferSize || 0 }))"""


ActionArguments = Mapping[str, JsonValue]
Result = str | bytes | None


async def act(page: Page, action: Action, arguments: ActionArguments) -> Result:
    """Perform an action: returns what was read, or a picture.

    Raises ActionError, and Playwright's Error.
    """
    return await _DOINGS[action](page, arguments)


async def _navigate(page: Page, arguments: ActionArguments) -> Result:
    response = await page.goto(str(arguments["url"]))
    return f"HTTP status {response.status}" if response else None


async def _go_back(page: Page, arguments: ActionArguments) -> Result:
    if await page.go_back() is None:
        raise ActionError("There is no page to go back to.")
    return None


async def _click(page: Page, arguments: ActionArguments) -> Result:
    element = _element(page, arguments)
    if await element.evaluate(_IS_SUBMITTER):
        raise ActionError("Not clicked: this sends a form; use submit_form.")
    await follow(page, element.click())
    return None


async def _scroll(page: Page, arguments: ActionArguments) -> Result:
    step = -STEP if arguments["direction"] == "up" else STEP
    await page.evaluate("y => window.scrollBy(0, y)", int(str(arguments["amount"])) * step)
    return None


async def _wait_for(page: Page, arguments: ActionArguments) -> Result:
    await _element(page, arguments).wait_for(timeout=float(str(arguments["timeout_ms"])))
    return None


async def _type_text(page: Page, arguments: ActionArguments) -> Result:
    field = page.locator(str(arguments.get("selector", FOCUSED))).first
    await field.fill(str(arguments["text"]))
    return None


async def _submit_form(page: Page, arguments: ActionArguments) -> Result:
    await submit(page, _element(page, arguments))
    return None


async def _screenshot(page: Page, arguments: ActionArguments) -> Result:
    return await page.screenshot()


async def _list_tabs(page: Page, arguments: ActionArguments) -> Result:
    return json.dumps([{"title": await page.title(), "url": page.url}], ensure_ascii=False)


async def _network_timing(page: Page, arguments: ActionArguments) -> Result:
    return json.dumps(await page.evaluate(_TIMING, MAX_RESOURCES), ensure_ascii=False)


async def _execute_js(page: Page, arguments: ActionArguments) -> Result:
    value = await page.evaluate(str(arguments["expression"]))
    return json.dumps(value, ensure_ascii=False, default=str)


async def _snapshot(page: Page, arguments: ActionArguments) -> Result:
    return await _element(page, arguments).aria_snapshot()


async def _extract_html(page: Page, arguments: ActionArguments) -> Result:
    return await (
        _element(page, arguments).inner_html() if "selector" in arguments else page.content()
    )


async def _extract(page: Page, arguments: ActionArguments) -> Result:
    match arguments["mode"]:
        case "html":
            return await _extract_html(page, arguments)
        case "text":
            return await _element(page, arguments).inner_text()
    return await _snapshot(page, arguments)


_DOINGS: dict[Action, Callable[[Page, ActionArguments], Awaitable[Result]]] = {
    "navigate": _navigate,
    "go_back": _go_back,
    "click": _click,
    "scroll": _scroll,
    "wait_for": _wait_for,
    "type_text": _type_text,
    "submit_form": _submit_form,
    "snapshot": _snapshot,
    "extract": _extract,
    "extract_html": _extract_html,
    "screenshot": _screenshot,
    "list_tabs": _list_tabs,
    "network_timing": _network_timing,
    "execute_js": _execute_js,
}
"""Every action but ``login``, which needs more than the page."""


def _element(page: Page, arguments: ActionArguments) -> Locator:
    return page.locator(str(arguments.get("selector", "body"))).first


async def submit(page: Page, element: Locator) -> None:
    """Send the form that an element is, or belongs to. Raises ActionError if there is none."""
    if not await follow(page, element.evaluate(_SUBMIT)):
        raise ActionError("This element belongs to no form.")


async def follow(page: Page, doing: Awaitable[T]) -> T:
    """Do something that may lead to another page, and wait until that is there."""
    requested, arrived = asyncio.Event(), asyncio.Event()

    def ask(request: Request) -> None:
        if request.is_navigation_request():
            requested.set()

    def arrive(_: object) -> None:
        arrived.set()

    page.on("request", ask)
    page.on("framenavigated", arrive)
    page.on("requestfailed", arrive)
    try:
        result = await doing
        with contextlib.suppress(TimeoutError):  # it led nowhere, or to no page
            await asyncio.wait_for(requested.wait(), LEADS_SECONDS)
            await asyncio.wait_for(arrived.wait(), ELEMENT_MS / 1000)
    finally:
        page.remove_listener("request", ask)
        page.remove_listener("framenavigated", arrive)
        page.remove_listener("requestfailed", arrive)
    await page.wait_for_load_state()
    return result

"""A browser that is not wanted any more leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from browser_support import Web, needs_browser

from artificer.testing.executor_suite import call_of


def children() -> set[str]:
    """The processes that this one has started, and that still run."""
    found = set()
    for thread in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended
            found |= {*(thread / "children").read_text().split()}
    return found


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-cancelled-start")
async def test_a_call_that_is_cancelled_while_its_browser_starts_leaves_no_process() -> None:
    before = children()
    async with Web() as web:
        wanted = "web.navigate", {"url": "http://127.0.0.1:9/"}
        calling = asyncio.ensure_future(web.executor.execute(call_of(web.executor, wanted)))
        for _ in range(6_000):
            if children() != before:
                break
            await asyncio.sleep(0.005)
        calling.cancel()
        await asyncio.wait([calling])
    assert calling.cancelled()
    assert children() <= before

"""Which browser is started; and that one which is not wanted any more leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from browser_support import Web, needs_browser

from artificer.backends.browser.window import browser_program
from artificer.testing.executor_suite import call_of
from needs import reason


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


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-cancelled-end")
@pytest.mark.parametrize("turns", [1, 2, 8])
async def test_a_cancelled_release_ends_the_browser_first(turns: int) -> None:
    before = children()
    async with Web() as web:
        assert (await web.do("list_tabs"))["status"] == "success"
        assert children() > before
        releasing = asyncio.ensure_future(web.executor.release("r"))
        for _ in range(turns):
            await asyncio.sleep(0)
        releasing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await releasing
        assert children() <= before


@pytest.mark.req("browser-program")
@pytest.mark.parametrize(
    ("here", "headless", "windowed"),
    [
        (("chromium", "chromium-headless-shell"), "chromium-headless-shell", "chromium"),
        (("chromium-headless-shell",), "chromium-headless-shell", None),
        (("google-chrome", "chromium-browser"), "chromium-browser", "chromium-browser"),
        ((), None, None),
    ],
)
def test_a_browser_without_windows_is_started_only_where_none_is_wanted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    here: tuple[str, ...],
    headless: str | None,
    windowed: str | None,
) -> None:
    for name in here:
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = browser_program(), browser_program(headless=False)
    assert found == tuple(name and str(tmp_path / name) for name in (headless, windowed))


@pytest.mark.req("browser-program")
async def test_a_manifest_that_wants_a_window_gets_no_browser_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("playwright.async_api", reason=reason("playwright"))
    (tmp_path / "chromium-headless-shell").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    async with Web("headless = false") as web:
        answered = await web.do("list_tabs")
    assert "Chromium is not installed. apt install chromium" in answered["fault"]


@pytest.mark.req("browser-sandbox")
@pytest.mark.parametrize(("user", "without"), [(0, True), (1000, False)])
async def test_only_root_starts_a_browser_without_its_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, without: bool
) -> None:
    """Root cannot have one. Where nobody can, the error says how that is changed."""
    pytest.importorskip("playwright.async_api", reason=reason("playwright"))
    program = tmp_path / "chromium-headless-shell"
    program.write_text(
        f"#!/bin/sh\necho \"$@\" > {tmp_path}/words\necho 'No usable sandbox!' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    async with Web() as web:
        answered = await web.do("list_tabs")
    words = (tmp_path / "words").read_text().split()
    assert ("--no-sandbox" in words) is without and "--disable-quic" in words
    assert "The browser cannot be started: Chromium cannot set up its sandbox" in answered["fault"]

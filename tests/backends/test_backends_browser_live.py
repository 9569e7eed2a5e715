"""A page in a browser that somebody else is using: a real Chromium with a page and a login."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from browser_support import HEAD, Web, needs_browser
from http_support import Seen, answer, serving

from artificer.backends.browser.settings import BrowserConfig
from artificer.backends.browser.spec.keys import BrowserScopeKeys
from artificer.backends.browser.spec.scope import takes_cookie
from artificer.backends.browser.window import browser_program
from artificer.errors import ConfigError, InvalidValueError

LIVE = 'connect = "live"'
SCOPE = '[browser.scope]\nallowed_domains = ["127.0.0.1:*"]\n'


def site(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
    """Pages of which one logs its visitor in, by a cookie and in its storage."""
    body, headers = "<title>Mine</title>", {"Content-Type": "text/html"}
    if seen.target in ("/mine", "/other"):
        body += "<script>localStorage.token = 'kept'</script>"
        headers["Set-Cookie"] = "sid=" + seen.headers["Host"][0]
    answer(body=body, headers=headers)(handler, seen)


@contextlib.contextmanager
def somebodys_browser(folder: Path, page: str) -> Iterator[str]:
    """A running browser with a page; returns where it listens."""
    program = browser_program()
    assert program is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            *(program, "--headless", f"--remote-debugging-port={port}", "--disable-gpu"),
            *(f"--user-data-dir={folder}", *(["--no-sandbox"] if os.geteuid() == 0 else [])),
            page,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # Debian's program is a script that starts another
        process.wait(120)


async def pages_of(address: str) -> str:
    """Return the browser's list of its pages, as soon as it answers."""

    def ask() -> str:
        with urllib.request.urlopen(f"{address}/json/list", timeout=5) as response:
            text: str = response.read().decode()
            return text

    for _ in range(1_200):
        with contextlib.suppress(OSError):
            found = await asyncio.to_thread(ask)
            if "Mine" in found:
                return found
        await asyncio.sleep(0.05)
    raise AssertionError("the browser did not start")


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-live")
async def test_a_run_has_its_own_page_and_the_users_logins_of_its_scope(tmp_path: Path) -> None:
    with serving(site) as server:
        outside = server.url.replace("127.0.0.1", "localhost")
        with somebodys_browser(tmp_path, server.url + "/mine") as address:
            await pages_of(address)
            opening = urllib.request.Request(f"{address}/json/new?{outside}/other", method="PUT")
            await asyncio.to_thread(urllib.request.urlopen, opening)
            async with Web(LIVE, scope=SCOPE, live=address) as web:
                first = await web.do("navigate", url=server.url + "/run")
                assert (first["status"], first["started"]) == ("success", True)
                token = await web.do("execute_js", expression="localStorage.token")
                assert token["results"] == '"kept"'
                webrtc = await web.do("execute_js", expression="typeof RTCPeerConnection")
                assert webrtc["results"] == '"undefined"'
                fetched = f"fetch('{outside}/out', {{mode: 'no-cors'}}).then(() => 1, () => 0)"
                await web.do("execute_js", expression=fetched)
                assert "/mine" not in (await web.do("list_tabs"))["results"]
                assert "/run" in await pages_of(address)
            after = await pages_of(address)
            assert "/mine" in after and "/other" in after and "/run" not in after
    runs = [s for s in server.seen if s.target == "/run"]
    assert [s.headers.get("Cookie") for s in runs] == ["sid=1"]
    assert not [s for s in server.seen if s.target == "/out"]


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-live")
async def test_a_browser_that_is_not_there_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        async with Web(LIVE, scope=SCOPE, live=address) as web:
            answered = await web.do("list_tabs")
    assert answered["status"] == "error" and f"cannot be reached at {address}" in answered["fault"]


@pytest.mark.req("browser-live")
def test_without_the_operators_word_there_is_no_such_page() -> None:
    with pytest.raises(ConfigError, match="needs your running browser") as caught:
        Web(LIVE, scope=SCOPE, head=HEAD)
    assert "remote-debugging-port" in (caught.value.hint or "")


@pytest.mark.req("browser-live")
@pytest.mark.parametrize("address", ["http://10.0.0.1:9222", "http://127.0.0.1.evil.org:1", "x"])
def test_only_a_browser_of_this_machine_can_be_allowed(address: str) -> None:
    with pytest.raises(InvalidValueError):
        BrowserConfig(live=address)
    assert BrowserConfig(live="http://[::1]:9222").live


@pytest.mark.req("browser-live")
@pytest.mark.parametrize(
    ("domain", "taken"),
    [
        ("shop.example.org", True),
        (".example.org", True),
        ("example.org", False),
        (".shop.example.org", True),
        ("ads.shop.example.org", False),
        (".org", True),
        ("evil.org", False),
        (".evil.org", False),
        ("a.corp.example", True),
    ],
)
def test_cookies_that_would_be_sent_to_the_scope_are_taken(domain: str, taken: bool) -> None:
    scope = BrowserScopeKeys(
        allowed_domains=("shop.example.org", "*.corp.example"), allow_external=True
    )
    assert takes_cookie(scope, domain) is taken

"""The browser's way out, spoken to by hand: what a page could make a browser ask of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from http_support import answer, serving

from artificer.backends.browser.proxy import ScopeProxy
from artificer.backends.browser.spec.keys import BrowserScopeKeys

pytestmark = pytest.mark.req("browser-proxy")

ANYWHERE = BrowserScopeKeys(allow_external=True, blocked_domains=("bad.example", "*.bad.example"))
LOCALHOST = BrowserScopeKeys(allowed_domains=("localhost:*",))


@pytest.fixture
async def anywhere() -> AsyncIterator[int]:
    """The port of a proxy to the public internet."""
    proxy = ScopeProxy(ANYWHERE)
    yield int((await proxy.start()).rpartition(":")[2])
    await proxy.aclose()


async def ask(port: int, head: str) -> str:
    """Send a head as it is, and return what comes back until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + b"\r\n\r\n")
    try:
        return (await asyncio.wait_for(reader.read(), 20)).decode()
    finally:
        writer.close()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "0.0.0.0",
     "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "169.254.169.254",
     "bad.example", "BAD.example", "bad.example.", "x.bad.example."],
)  # fmt: skip
@pytest.mark.parametrize("form", ["CONNECT {}:{} HTTP/1.1", "GET http://{}:{}/ HTTP/1.1"])
async def test_nothing_private_and_nothing_blocked_is_reached_by_any_spelling(
    anywhere: int, host: str, form: str
) -> None:
    with serving(answer(body="reached")) as server:
        said = await ask(anywhere, form.format(host, server.port))
        assert server.seen == []
    assert not said.startswith("HTTP/1.1 200")
    assert "reached" not in said


@pytest.mark.parametrize(
    "line",
    ["GET http://localhost@127.0.0.1:{}/ HTTP/1.1", "GET http://127.0.0.1:{}/localhost HTTP/1.1",
     "GET http://127.0.0.1:{}#localhost HTTP/1.1", "CONNECT localhost@127.0.0.1:{} HTTP/1.1",
     "GET /localhost:{} HTTP/1.1", "GET http://localhost:{}", "CONNECT localhost:{}x HTTP/1.1"],
)  # fmt: skip
async def test_a_host_in_scope_elsewhere_in_a_line_opens_nothing(line: str) -> None:
    proxy = ScopeProxy(LOCALHOST)
    port = int((await proxy.start()).rpartition(":")[2])
    with serving(answer(body="reached")) as server:
        said = await ask(port, line.format(server.port))
        assert server.seen == []
    await proxy.aclose()
    assert "reached" not in said


async def test_a_server_is_told_the_host_that_was_judged() -> None:
    proxy = ScopeProxy(LOCALHOST)
    port = int((await proxy.start()).rpartition(":")[2])
    with serving(answer(body="reached")) as server:
        head = f"GET http://localhost:{server.port}/a HTTP/1.1\r\nHost: other.example\r\nhost: x"
        assert "reached" in await ask(port, head)
        assert server.seen[0].headers["Host"] == f"localhost:{server.port}"
        assert list(server.seen[0].headers).count("Host") == 1
        assert server.seen[0].target == "/a"
    await proxy.aclose()


async def test_a_head_without_end_is_no_answer() -> None:
    proxy = ScopeProxy(LOCALHOST)
    port = int((await proxy.start()).rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET http://localhost/ HTTP/1.1\r\nX: " + b"x" * 200_000)
    with contextlib.suppress(ConnectionError):  # it closed with bytes unread
        assert await asyncio.wait_for(reader.read(), 20) == b""
    writer.close()
    await proxy.aclose()


@pytest.mark.req("browser-port")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_a_loopback_host_without_a_port_opens_no_other_service(host: str) -> None:
    scope = BrowserScopeKeys(allowed_domains=("127.0.0.1", "localhost", "::1"), allow_external=True)
    proxy = ScopeProxy(scope)
    port = int((await proxy.start()).rpartition(":")[2])
    with serving(answer(body="reached")) as server:
        for line in ("CONNECT {}:{} HTTP/1.1", "GET http://{}:{}/ HTTP/1.1"):
            said = await ask(port, line.format(host, server.port))
            assert said.startswith("HTTP/1.1 403")
        assert server.seen == []
    assert set(proxy.take_refused()) == {host.strip("[]")}
    await proxy.aclose()


@pytest.mark.req("browser-port")
async def test_a_scope_opens_the_port_that_it_names_and_no_other() -> None:
    with serving(answer(body="one")) as one, serving(answer(body="two")) as two:
        proxy = ScopeProxy(BrowserScopeKeys(allowed_domains=(f"127.0.0.1:{one.port}",)))
        port = int((await proxy.start()).rpartition(":")[2])
        assert "one" in await ask(port, f"GET http://127.0.0.1:{one.port}/ HTTP/1.1")
        assert "403" in await ask(port, f"GET http://127.0.0.1:{two.port}/ HTTP/1.1")
        await proxy.aclose()
        assert two.seen == []


@pytest.mark.req("browser-port")
async def test_a_name_that_leads_to_this_machine_opens_no_port_that_is_not_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(answer(body="reached")) as server:

        async def here(*_: object, **__: object) -> list[object]:
            return [(2, 1, 6, "", ("127.0.0.1", server.port))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", here)
        proxy = ScopeProxy(BrowserScopeKeys(allowed_domains=("dev.example",)))
        port = int((await proxy.start()).rpartition(":")[2])
        said = await ask(port, f"GET http://dev.example:{server.port}/ HTTP/1.1")
        await proxy.aclose()
    assert said.startswith("HTTP/1.1 403")
    assert server.seen == []

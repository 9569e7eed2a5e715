"""Servers behind a URL that send too much, lead elsewhere, or write into the log."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import time
from http.server import BaseHTTPRequestHandler

import pytest
from http_support import Seen, answer, serving
from test_backends_mcp_asked import CONTRACT, Authority, call, client, rpc, said

from artificer.backends.mcp import http
from artificer.backends.mcp.connection import MAX_RESPONSE, McpLink
from artificer.backends.mcp.executor import MAX_BLOBS, McpExecutor, discover
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.tools import MAX_TOOLS
from artificer.errors import ConfigError
from artificer.ports import Call
from artificer.secrets.resolver import of_environment
from artificer.storage.blobs.memory import MemoryStore

EVENTS = {"Content-Type": "text/event-stream"}


@pytest.mark.req("mcp-client-http-bounded")
async def test_what_a_server_packs_is_not_unpacked() -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        message = json.loads(seen.body or b"{}")
        if message.get("method") != "tools/call":
            return rpc(seen)(handler, seen)
        result = {"content": [{"type": "text", "text": "x" * MAX_RESPONSE * 2}]}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        return answer(200, gzip.compress(body), headers)(handler, seen)

    with serving(respond) as server:
        link = McpLink(McpServer("far", url=server.url))
        receipt = await call(link, "leak")
        await link.aclose()
    assert receipt.status == "error" and "compressed the response" in receipt.content


@pytest.mark.req("mcp-client-http-bounded")
async def test_what_an_authorization_needs_is_no_stream_of_events() -> None:
    sent = 0

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        nonlocal sent
        if seen.method != "GET":
            return Authority()(handler, seen)
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        while True:
            sent += handler.wfile.write(b"data: {}\n\n" * 1_000)

    with serving(respond) as server:
        link = client(server.url, server.url)
        with pytest.raises(ConfigError, match=f"more than {MAX_RESPONSE} bytes"):
            await discover(link, CONTRACT, None)
        await link.aclose()
    assert sent < 4 * MAX_RESPONSE


@pytest.mark.req("mcp-client-http-bounded")
async def test_a_result_of_countless_pictures_is_kept_in_part() -> None:
    picture = {"type": "image", "data": "eA==", "mimeType": "image/png"}

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        message = json.loads(seen.body or b"{}")
        if message.get("method") != "tools/call":
            return rpc(seen)(handler, seen)
        result = {"content": [picture] * (MAX_BLOBS + 1)}
        return said({"jsonrpc": "2.0", "id": message["id"], "result": result})(handler, seen)

    with serving(respond) as server:
        link = McpLink(McpServer("far", url=server.url))
        found = McpExecutor(link, await discover(link, CONTRACT, None), blobs=MemoryStore())
        receipt = await found.execute(Call("r", "c", found.tools[0], {}, "k"))
        await link.aclose()
    assert receipt.status == "ok"
    assert len(json.loads(receipt.evidence or "")["blobs"]) == MAX_BLOBS
    assert "[image image/png: 1 bytes]" in receipt.content


@pytest.mark.req("mcp-client-http-bounded")
@pytest.mark.parametrize("size", [MAX_TOOLS, MAX_TOOLS + 1])
async def test_a_server_has_so_many_tools_on_whatever_page(size: int) -> None:
    listed = [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(size)]

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        message = json.loads(seen.body or b"{}")
        if message.get("method") != "tools/list":
            return rpc(seen)(handler, seen)
        result = {"tools": listed}
        return said({"jsonrpc": "2.0", "id": message["id"], "result": result})(handler, seen)

    with serving(respond) as server:
        link = McpLink(McpServer("far", url=server.url))
        try:
            assert len(await discover(link, CONTRACT, None)) == size == MAX_TOOLS
        except ConfigError as error:
            assert size > MAX_TOOLS and f"lists more than {MAX_TOOLS} tools" in error.message
        await link.aclose()


@pytest.mark.req("mcp-client-http-bounded")
async def test_a_server_that_ends_its_messages_at_once_is_not_asked_without_a_pause() -> None:
    asked: list[float] = []
    loop, often = asyncio.get_running_loop(), asyncio.Event()

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        if seen.method == "GET":
            asked.append(time.monotonic())
            if len(asked) == 4:
                loop.call_soon_threadsafe(often.set)
            return answer(200, "retry: 0\nid: 1\ndata: \n\n", EVENTS)(handler, seen)
        if seen.method == "DELETE":
            return answer(200)(handler, seen)
        message = json.loads(seen.body or b"{}")
        if message.get("method") != "initialize":
            return rpc(seen)(handler, seen)
        about = {"name": "s", "version": "1"}
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": about}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        headers = {"Content-Type": "application/json", "Mcp-Session-Id": "s"}
        return answer(200, body, headers)(handler, seen)

    with serving(respond) as server:
        link = McpLink(McpServer("far", url=server.url))
        await discover(link, CONTRACT, None)
        await often.wait()
        await link.aclose()
    assert asked[3] - asked[0] > 2 * http.LISTEN_EVERY


@pytest.mark.req("mcp-client-http-private")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"])
async def test_no_authorization_leads_into_the_own_network(host: str) -> None:
    with serving(answer(body="{}")) as other:
        where = f'Bearer resource_metadata="http://{host}:{other.port}/admin"'
        with serving(answer(401, headers={"WWW-Authenticate": where})) as server:
            link = client(server.url, server.url)
            with pytest.raises(ConfigError, match="is not on the public internet"):
                await discover(link, CONTRACT, None)
            await link.aclose()
        assert other.seen == []


@pytest.mark.req("mcp-client-http-private")
async def test_the_address_that_was_checked_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int]] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.2", "127.0.0.1"]  # nothing listens at the first

    monkeypatch.setattr(http, "is_public", lambda _: True)
    with serving(answer(body="there")) as server:
        async with http.bounded_client({}, 100, "http://own.example/", resolve=resolve) as found:
            reply = await found.post(f"http://other.example:{server.port}/x", content="here")
        assert reply.text == "there"
        assert server.seen[0].headers["Host"] == f"other.example:{server.port}"
        assert server.seen[0].body == b"here"
    assert asked == [("other.example", server.port)]


@pytest.mark.req("mcp-client-secrets")
@pytest.mark.parametrize(
    "kind, body",
    [
        ("text/event-stream", "event: \x1b]0;x\x07 sesame\ndata: x\n\n"),
        ("text/event-stream", 'data: {"sesame": "\\u001b"}\n\n'),
        ("application/json", '{"sesame": 1}'),
        ("text/event-stream", 'data: {"jsonrpc": "2.0", "method": "notifications/progress", '
         '"params": {"progressToken": {"sesame": 1}}}\n\n'),
        ("\x1b]0;x\x07 sesame", "x"),
    ],
)  # fmt: skip
async def test_what_a_server_sends_is_not_logged_as_it_is(
    kind: str, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        calls = b'"tools/call"' in seen.body
        reply = answer(200, body, {"Content-Type": kind}) if calls else rpc(seen)
        return reply(handler, seen)

    with serving(respond) as server, caplog.at_level(logging.INFO):
        link = McpLink(
            McpServer("far", url=server.url, headers={"Authorization": "{_secret:k}"}),
            of_environment({"ARTIFICER_SECRET_K": "sesame"}),
        )
        receipt = await call(link, "leak")
        await link.aclose()
    assert receipt.status in ("error", "timeout")
    assert "sesame" not in caplog.text + receipt.content
    assert "\x1b" not in caplog.text + receipt.content


@pytest.mark.req("mcp-client-secrets")
def test_a_logger_of_the_same_name_is_left_to_its_program(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logging.getLogger("client").warning("mine")
    assert "mine" in caplog.text

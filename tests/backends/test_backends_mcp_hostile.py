"""Answers that no MCP server should give: each is an outcome in time, and none is an accident."""

from __future__ import annotations

import asyncio
import json

import pytest
from http_support import answer, serving
from test_backends_mcp import CONTRACT, call, linked

from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import McpExecutor, discover
from artificer.backends.mcp.server import McpServer
from artificer.errors import ConfigError
from artificer.ports import Receipt
from artificer.secrets.resolver import of_environment
from artificer.storage.blobs.memory import MemoryStore

pytestmark = pytest.mark.req("mcp-client-answers")


def reply(result: str) -> str:
    """An answer with this result."""
    return f'{{"jsonrpc": "2.0", "id": ID, "result": {result}}}'


def text(value: str) -> str:
    """A result that is this text."""
    return reply('{"content": [{"type": "text", "text": ' + value + "}]}")


ANSWERS = {
    "no result": reply("[]"),
    "no content": reply("{}"),
    "not an object": reply("7"),
    "unknown block": reply('{"content": [{"type": "hologram", "data": "x"}]}'),
    "picture that is none": reply(
        '{"content": [{"type": "image", "data": "\u00fc!", "mimeType": "a\\u0000\\nb"}]}'
    ),
    "resource without anything": reply('{"content": [{"type": "resource", "resource": {}}]}'),
    "surrogate": text('"\\ud800"'),
    "control characters": text('"\\u001b[2J\\u0000\\u202e"'),
    "huge number": reply('{"content": [], "structuredContent": {"n": 1e999}}'),
    "long integer": reply('{"content": [], "structuredContent": {"n": ' + "9" * 5_000 + "}}"),
    "not a number": reply('{"content": [], "structuredContent": {"n": NaN}}'),
    "deep": reply('{"content": [], "structuredContent": {"n": ' + "[" * 5_000 + "]" * 5_000 + "}}"),
    "deep enough": reply(
        '{"content": [], "structuredContent": {"n": ' + "[" * 150 + "]" * 150 + "}}"
    ),
    "many blocks": reply(
        '{"content": [' + ", ".join(['{"type": "text", "text": "x"}'] * 50_000) + "]}"
    ),
    "error": '{"jsonrpc": "2.0", "id": ID, "error": {"code": 1, "message": "'
    + "no " * 9_000
    + '"}}',
    "error without a message": '{"jsonrpc": "2.0", "id": ID, "error": {}}',
    "another id": '{"jsonrpc": "2.0", "id": 99999, "result": {"content": []}}',
    "another id, a word": '{"jsonrpc": "2.0", "id": "ID", "result": {"content": []}}',
    "another version": '{"jsonrpc": "1.0", "id": ID, "result": {"content": []}}',
    "a request of ours": '{"jsonrpc": "2.0", "id": ID, "method": "tools/call", "params": {}}',
    "a request to sample": (
        '{"jsonrpc": "2.0", "id": 5, "method": "sampling/createMessage", "params": '
        '{"messages": [], "maxTokens": 5}}'
    ),
    "a batch": "[" + text('"x"') + "]",
    "nothing": "",
}

IGNORED = {
    *("no result", "not an object", "surrogate", "long integer", "deep", "nothing", "a batch"),
    *("error without a message", "another id", "another version"),
}
"""Answers to no request: the call waits until its time is up."""


def held(receipt: Receipt) -> None:
    """Check the rules that every outcome keeps to, whatever a server sends."""
    assert receipt.status in ("ok", "error", "timeout")
    assert len(receipt.content) <= 33_000
    receipt.content.encode()
    json.loads(receipt.evidence or "")
    assert "\x1b" not in receipt.content
    assert "\x00" not in receipt.content


@pytest.mark.parametrize("what", ANSWERS)
async def test_every_answer_is_an_outcome(what: str) -> None:
    async with linked() as link:
        tools = await discover(link, CONTRACT, ("raw", "echo"))
        executor = McpExecutor(link, tools, blobs=MemoryStore())
        timeout_ms = 250 if what in IGNORED else 1_500
        receipt = await call(executor, "raw", timeout_ms=timeout_ms, x=ANSWERS[what])
        again = await call(executor, "echo", x="still there")
    held(receipt)
    assert receipt.status == "timeout" or what not in IGNORED
    assert json.loads(again.content)["output"] == "still there"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_secret_follows_a_redirect_of_a_server_behind_a_url(status: int) -> None:
    with (
        serving(answer(body="{}")) as other,
        serving(answer(status, headers={"Location": f"{other.url}/mcp"})) as server,
    ):
        where = McpServer("far", url=server.url, headers={"X-Key": "{_secret:k}"}, start_seconds=60)
        link = McpLink(where, of_environment({"ARTIFICER_SECRET_K": "abc"}))
        async with asyncio.timeout(120):
            with pytest.raises(ConfigError) as caught:
                await discover(link, CONTRACT, None)
            await link.aclose()
        assert other.seen == []
        assert server.seen[0].headers["X-Key"] == "abc"
    assert "abc" not in str(caught.value)


async def test_a_program_that_is_no_server_is_described_by_what_went_wrong() -> None:
    """It hands back what it reads, and has ended when its input is closed a second time."""
    link = McpLink(McpServer("echo", command=("cat",)), of_environment({}))
    with pytest.raises(ConfigError, match="it did not start") as caught:
        await discover(link, CONTRACT, None)
    await link.aclose()
    assert "Method not found" in str(caught.value)

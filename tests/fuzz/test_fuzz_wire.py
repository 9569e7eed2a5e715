"""Input from servers and peers: provider streams, HTTP, MCP messages, requests to our double."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from fuzz_kit import bounded, corpus, declared, fuzz, trees
from hypothesis import given
from hypothesis import strategies as st
from provider_kit import PROVIDERS, a_request
from strict_rules import check_request
from strict_schema import Refused

from artificer.backends.secrets.redaction import Redactor
from artificer.contracts.definition import ToolDefinition
from artificer.ports import Memo
from artificer.providers.assembler import ReplyStream
from artificer.providers.attempts import AttemptLimits
from artificer.providers.chat_wire import ChatDialect, ChatStream
from artificer.providers.failures import error_in, failure
from artificer.providers.local_http import HttpError, post_events
from artificer.providers.local_process import Address
from artificer.providers.messages_wire import MessagesDialect, MessagesStream
from artificer.providers.responses_wire import ResponsesDialect, ResponsesStream
from artificer.values.blocks import user
from artificer.values.model import ModelFailure, ModelReply
from artificer.values.strict_json import parse_object
from needs import require
from schemas import required_object

CASES = Path(__file__).parents[1] / "cases" / "providers"
STREAMS = {
    path.stem: [case["events"] for case in json.loads(path.read_text("utf-8"))]
    for path in sorted(CASES.glob("*.json"))
}
ADD = ToolDefinition(
    name="math.add",
    description="Add.",
    input_schema=required_object(a={"type": "integer"}),
    effect="pure",
)
MAKE: dict[str, Callable[[], ReplyStream]] = {
    "chat": lambda: ChatStream(ChatDialect("x"), (ADD,)),
    "messages": lambda: MessagesStream(MessagesDialect("x"), (ADD,)),
    "responses": lambda: ResponsesStream(ResponsesDialect("x"), (ADD,), 100),
}


@pytest.mark.req("fuzz-peers")
@pytest.mark.parametrize("protocol", [*MAKE])
def test_a_stream_of_a_provider_is_a_reply_or_a_failure(protocol: str) -> None:
    @given(trees(*STREAMS[protocol]))
    @fuzz(120)
    def check(events: Any) -> None:
        stream = MAKE[protocol]()
        with bounded():
            for event in events if isinstance(events, list) else [events]:
                stream.feed(event)
            outcome = stream.finish()
        assert isinstance(outcome, ModelReply | ModelFailure)
        outcome.canonical()
        if isinstance(outcome, ModelReply):
            assert len({b.id for b in outcome.blocks if b.type == "tool_use"}) == len(
                [b for b in outcome.blocks if b.type == "tool_use"]
            )
            for block in outcome.blocks:
                if block.type == "tool_use":
                    parse_object(block.arguments)

    check()


@pytest.mark.req("fuzz-peers")
@given(
    trees({"error": {"message": "no", "code": 429, "type": "x"}}, {"type": "error", "error": {}})
)
@fuzz(60)
def test_an_error_of_a_provider_is_told(body: Any) -> None:
    found = error_in(body)
    if found is not None:
        failure("unavailable", found[1], body=body).canonical()


def sse(events: list[Any]) -> bytes:
    """Events as a server sends them."""
    frames = (
        f"event: {e.get('type', 'x') if isinstance(e, dict) else 'x'}\ndata: {json.dumps(e)}\n\n"
        for e in events
    )
    return "".join(frames).encode() + b"data: [DONE]\n\n"


BODIES = {
    protocol: [sse(events), sse([*events, *events]), json.dumps(events[-1]).encode()]
    for protocol, streams in STREAMS.items()
    for events in streams[:1]
}
HEADS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 400 X\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
)


@pytest.mark.req("fuzz-peers")
@pytest.mark.parametrize("protocol", [*BODIES])
def test_whatever_a_server_answers_an_sdk_is_a_reply_or_a_failure(protocol: Any) -> None:
    """Through the official SDKs, over a real socket."""
    limits = AttemptLimits(attempts=1, request=2.0, idle=1.0)

    @given(
        st.lists(
            st.tuples(corpus(*HEADS), corpus(*BODIES[protocol])).map(b"".join)
            | st.tuples(st.sampled_from(HEADS), corpus(*BODIES[protocol])).map(b"".join),
            min_size=1,
            max_size=4,
        )
    )
    @fuzz(2)
    def check(answers: list[bytes]) -> None:
        async def serve() -> None:
            waiting = iter(answers)

            async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = re.search(rb"(?i)content-length: (\d+)", head)
                    await reader.readexactly(int(length[1]) if length else 0)
                    writer.write(next(waiting, b""))
                    await writer.drain()
                writer.close()

            server = await asyncio.start_server(respond, "127.0.0.1", 0)
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with server:
                provider = PROVIDERS[protocol](base_url=url, api_key="k", limits=limits)
                for _ in answers:
                    payload = provider.prepare(a_request(), (user("Hello."),), Memo())
                    outcome = await provider.generate(payload, lambda _: None)
                    assert isinstance(outcome, ModelReply | ModelFailure)
                await provider.aclose()

        with bounded():
            asyncio.run(serve())

    check()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
ANSWERS = (
    HEAD + b'Transfer-Encoding: chunked\r\n\r\n19\r\ndata: {"a": 1}\n\ndata: [2]\n\r\n0\r\n\r\n',
    HEAD + b'\r\ndata: {"choices": []}\n\ndata: [DONE]\n',
    HEAD + b'Content-Length: 14\r\n\r\ndata: {"a":1}\n',
    b'HTTP/1.1 500 Oh\r\nContent-Length: 27\r\n\r\n{"error": {"message": "x"}}',
)


@pytest.mark.req("fuzz-peers")
@given(st.lists(corpus(*ANSWERS), min_size=1, max_size=8))
@fuzz(15)
def test_http_of_the_local_server_is_read_or_refused(answers: list[bytes]) -> None:
    """It raises only errors that its caller treats as a broken connection."""

    async def serve() -> None:
        waiting = iter(answers)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(next(waiting))
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            for _ in answers:
                try:
                    async with post_events(Address("127.0.0.1", port, "k"), "/x", {}) as events:
                        _ = [event async for event in events]
                except (HttpError, OSError, EOFError, ValueError):
                    pass

    with bounded():
        asyncio.run(serve())


REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {
        "model": "m",
        "stream": True,
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "r"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
        ],
        "tool_choice": "auto",
    },
    "messages": {
        "model": "m",
        "max_tokens": 9,
        "stream": True,
        "system": "s",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "u"}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}],
            },
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto"},
    },
    "responses": {
        "model": "m",
        "stream": True,
        "store": False,
        "instructions": "s",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "u"}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "r"},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
    },
}


@pytest.mark.req("fuzz-peers")
@pytest.mark.parametrize("protocol", [*REQUESTS])
def test_a_request_to_the_double_is_accepted_or_refused(protocol: Any) -> None:
    @given(trees(REQUESTS[protocol]))
    @fuzz(60)
    def check(body: Any) -> None:
        declared(check_request, protocol, body, also=(Refused,))

    check()


MCP_RESULTS = (
    {"content": [{"type": "text", "text": "t"}], "structuredContent": {"a": 1}, "isError": False},
    {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]},
    {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "t"}}]},
    {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "description": "d"}]},
)
MESSAGES = (
    *({"jsonrpc": "2.0", "id": 1, "result": result} for result in MCP_RESULTS),
    {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}},
    {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {"messages": []}},
    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
)


@pytest.mark.req("fuzz-peers")
@given(st.lists(corpus(*(json.dumps(m) for m in MESSAGES)), min_size=1, max_size=12))
@fuzz(3)
def test_whatever_an_mcp_server_answers_is_an_outcome(lines: list[str]) -> None:
    """A server behind a URL; each line is its answer to one call."""
    require("mcp")
    from http_support import Seen, answer, serving

    from artificer.backends.mcp.connection import McpLink
    from artificer.backends.mcp.executor import McpExecutor, McpTool, RemoteFacts, adopt
    from artificer.backends.mcp.server import McpServer
    from artificer.backends.mcp.spec.tools import McpContract
    from artificer.errors import ConfigError
    from artificer.ports import Call
    from artificer.storage.blobs.memory import MemoryStore

    waiting = iter(lines)

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        message = json.loads(seen.body or b"{}")
        kind = {"Content-Type": "application/json"}
        if message.get("method") == "initialize":
            about = {"name": "s", "version": "1"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": about}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif message.get("method") == "tools/call":
            line = next(waiting, "{}").encode("utf-8", "replace").decode()
            body = re.sub(r'"id": ?1\b', lambda _: f'"id": {message["id"]}', line)
        else:
            return answer(202 if "id" not in message else 404)(handler, seen)
        return answer(200, body, kind)(handler, seen)

    async def ask(url: str) -> None:
        link = McpLink(McpServer("s", url=f"{url}/mcp", start_seconds=20))
        facts = RemoteFacts(name="t", input_schema={"type": "object"})
        tool = McpTool(adopt("s", facts, McpContract(timeout_ms=300)))
        executor = McpExecutor(link, [tool], blobs=MemoryStore())
        definition = executor.tools[0]
        try:
            for number in range(len(lines)):
                made = Call(run="r", id=f"c{number}", definition=definition, arguments={}, key="k")
                receipt = await executor.execute(made)
                receipt.content.encode()
                json.loads(receipt.evidence or "")
                assert len(receipt.content) <= 33_000
        except ConfigError:
            pass
        finally:
            await link.aclose()

    with serving(respond) as server, bounded():
        asyncio.run(ask(server.url))


@pytest.mark.req("secrets-nowhere")
@given(
    corpus('k/e+y "7f20" <9>\\e', "plain-0123456789", "spär ün", "a&b=c"),
    st.integers(0, 8),
    corpus("x"),
)
@fuzz(150)
def test_a_secret_is_found_in_each_form(secret: str, form: int, around: str) -> None:
    import base64
    import html
    from urllib.parse import quote, quote_plus

    secret = secret[:200].encode("utf-8", "replace").decode()
    around = around[:200].encode("utf-8", "replace").decode()
    if len(secret) < 8 or not secret.strip() or len({*secret}) < 4:
        return
    data = around.encode() + secret.encode()
    forms = (
        secret,
        quote(secret, safe=""),
        quote_plus(secret).lower() if secret.lower() == secret else quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(json.dumps(secret))[3:-3],
        html.escape(secret),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data + b"!").decode(),
        data.hex(),
    )
    with bounded():
        cleaned = Redactor({"k": secret}).clean(f"{around}{forms[form]}{around}")
    assert "[secret k]" in cleaned

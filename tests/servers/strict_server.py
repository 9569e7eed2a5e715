"""A strict double of the three model APIs: a real HTTP server that refuses what they refuse.

It plays a script, one entry per accepted request, as streams in each protocol's own events; a
request of Chat Completions may have its answer whole. Like llama.cpp it promises to keep
connections alive and closes them after each stream.

    async with StrictServer(Calls(("add", '{"a": 1, "b": 2}')), Says("3")) as server:
        provider = Anthropic(base_url=server.url, api_key="test")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from strict_cache import KEPT_TOKENS, Kept, PromptCache
from strict_rules import Protocol, Refused, check_request

MAX_BODY = 16_000_000


@dataclass(frozen=True)
class Says:
    """The model answers with a text; ``cut`` says that its token limit ended it."""

    text: str
    cut: bool = False


@dataclass(frozen=True)
class Calls:
    """The model calls tools: each call is a wire name and the raw text of its arguments."""

    calls: tuple[tuple[str, str], ...]
    cut: bool = False
    text: str = ""

    def __init__(self, *calls: tuple[str, str], cut: bool = False, text: str = "") -> None:
        object.__setattr__(self, "calls", calls)
        object.__setattr__(self, "cut", cut)
        object.__setattr__(self, "text", text)


@dataclass(frozen=True)
class Refuses:
    """The model declines."""

    text: str


@dataclass(frozen=True)
class Hangs:
    """The stream begins with a text and then says nothing until the client goes away."""

    text: str = "..."


@dataclass(frozen=True)
class Fails:
    """The server has no answer: an HTTP status such as 503."""

    status: int = 503


Turn = Says | Calls | Refuses | Hangs | Fails
Answers = Callable[[dict[str, Any]], Turn]


@dataclass(frozen=True)
class Seen:
    """A request that was accepted, or refused with a reason."""

    protocol: Protocol
    body: dict[str, Any]
    headers: dict[str, str]
    refused: str | None = None


_PATHS: dict[str, Protocol] = {
    "/chat/completions": "chat",
    "/v1/chat/completions": "chat",
    "/openai/v1/chat/completions": "chat",
    "/v1/messages": "messages",
    "/responses": "responses",
}


class StrictServer:
    """The server. ``seen`` lists its requests; ``dropped`` is set when a client goes away."""

    def __init__(self, *script: Turn, answer: Answers | None = None) -> None:
        """``answer`` makes a turn of each request's body, in place of a script."""
        self._script = list(script)
        self._answers = answer
        self._server: asyncio.Server | None = None
        self._count = 0
        self._cache = PromptCache()
        self.seen: list[Seen] = []
        self.dropped = asyncio.Event()

    @property
    def url(self) -> str:
        """The ``base_url`` for each of the SDKs."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def refused(self) -> list[str]:
        """The reasons of all refusals so far."""
        return [seen.refused for seen in self.seen if seen.refused]

    async def __aenter__(self) -> StrictServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.dropped.set()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].partition(" ")[2].split(" ")[0].split("?")[0]
        pairs = (line.split(": ", 1) for line in head[1:] if ": " in line)
        headers = {name.lower(): value for name, value in pairs}
        try:
            length = min(max(0, int(headers.get("content-length", "0"))), MAX_BODY)
            body = json.loads(await reader.readexactly(length))
        except (ValueError, RecursionError):
            await _send_json(writer, 400, _error("invalid_request_error", "the body is no JSON"))
            return
        protocol = _PATHS.get(path)
        if protocol is None:
            await _send_json(writer, 404, _error("not_found_error", f"no such path: {path}"))
            return
        try:
            check_request(protocol, body)
            turn = self._next_turn(body)
        except Refused as refusal:
            self.seen.append(Seen(protocol, body, headers, str(refusal)))
            await _send_json(writer, 400, _error("invalid_request_error", str(refusal)))
            return
        self.seen.append(Seen(protocol, body, headers))
        if isinstance(turn, Fails):
            await _send_json(writer, turn.status, _error("server_error", "overloaded"))
        elif body.get("stream"):
            await self._stream(protocol, turn, self._cache.keep(body), reader, writer)
        else:
            await _send_json(writer, 200, _whole_chat(turn, self._count, body["model"]))

    def _next_turn(self, body: dict[str, Any]) -> Turn:
        if self._answers is not None:
            self._count += 1
            return self._answers(body)
        if not self._script:
            raise Refused("the script has ended")
        self._count += 1
        return self._script.pop(0)

    async def _stream(
        self,
        protocol: Protocol,
        turn: Turn,
        kept: Kept,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100\r\n\r\n"
        )
        for event in _EVENTS[protocol](turn, self._count, kept):
            data = event if isinstance(event, str) else json.dumps(event)
            name = "" if isinstance(event, str) or protocol == "chat" else event["type"]
            frame = (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
            writer.write(f"{len(frame.encode()):x}\r\n{frame}\r\n".encode())
            await writer.drain()
        if isinstance(turn, Hangs):
            await reader.read()
            self.dropped.set()
            return
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _send_json(writer: asyncio.StreamWriter, status: int, value: dict[str, Any]) -> None:
    data = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode() + data)
    await writer.drain()


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, "code": None}}


def _pieces(text: str) -> Iterator[str]:
    """Cut a text as a stream would, in small pieces: no more than two hundred."""
    size = max(7, -(-len(text) // 200))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _parts(turn: Says | Calls | Refuses | Hangs) -> tuple[str, tuple[tuple[str, str], ...], bool]:
    """Return a turn's text, calls, and whether it is cut."""
    if isinstance(turn, Calls):
        return turn.text, turn.calls, turn.cut
    return turn.text, (), isinstance(turn, Says) and turn.cut


def _whole_chat(turn: Says | Calls | Refuses | Hangs, number: int, model: str) -> dict[str, Any]:
    text, calls, cut = _parts(turn)
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for index, (name, arguments) in enumerate(calls)
        ]
    finish = "length" if cut else "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


# --- the streams ------------------------------------------------------------------------------


def _chat_events(turn: Turn, number: int, kept: Kept) -> Iterator[dict[str, Any] | str]:
    text, calls, cut = _parts(turn)

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        kind = "chat.completion.chunk"
        return {"id": f"chatcmpl-{number}", "object": kind, "model": "double", "choices": [choice]}

    yield chunk({"role": "assistant", "content": None})
    member = "refusal" if isinstance(turn, Refuses) else "content"
    for piece in _pieces(text):
        yield chunk({member: piece})
    for index, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        head = {"index": index, "id": f"call_{number}_{index}", "type": "function"}
        yield chunk({"tool_calls": [{**head, "function": function}]})
        for piece in _pieces(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if isinstance(turn, Hangs):
        return
    yield chunk({}, "length" if cut else "tool_calls" if calls else "stop")
    usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    if kept == "read":
        usage["prompt_tokens_details"] = {"cached_tokens": KEPT_TOKENS}
    yield {**chunk({}), "choices": [], "usage": usage}
    yield "[DONE]"


def _messages_events(turn: Turn, number: int, kept: Kept) -> Iterator[dict[str, Any]]:
    text, calls, cut = _parts(turn)
    usage = {"input_tokens": 10 - (KEPT_TOKENS if kept else 0), "output_tokens": 1}
    if kept:
        counted = "cache_read_input_tokens" if kept == "read" else "cache_creation_input_tokens"
        usage[counted] = KEPT_TOKENS
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "double"}
    ends: dict[str, Any] = {"stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**message, **ends, "content": [], "usage": usage}}
    blocks: list[tuple[dict[str, Any], str, str]] = []
    if text:
        blocks.append(({"type": "text", "text": ""}, "text", text))
    for index, (name, arguments) in enumerate(calls):
        head = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}}
        blocks.append((head, "input_json", arguments))
    for index, (head, kind, whole) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": head}
        member = "text" if kind == "text" else "partial_json"
        for piece in _pieces(whole):
            delta = {"type": f"{kind}_delta", member: piece}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if not isinstance(turn, Hangs):
            yield {"type": "content_block_stop", "index": index}
    if isinstance(turn, Hangs):
        return
    reason = "refusal" if isinstance(turn, Refuses) else "tool_use" if calls else "end_turn"
    ends["stop_reason"] = "max_tokens" if cut else reason
    yield {"type": "message_delta", "delta": ends, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def _responses_events(turn: Turn, number: int, kept: Kept) -> Iterator[dict[str, Any]]:
    text, calls, cut = _parts(turn)
    response: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "model": "double"}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    output: list[dict[str, Any]] = []
    if text:
        kind = "refusal" if isinstance(turn, Refuses) else "output_text"
        member = "refusal" if isinstance(turn, Refuses) else "text"
        for piece in _pieces(text):
            yield {"type": f"response.{kind}.delta", "item_id": f"msg_{number}", "delta": piece}
        part = {"type": kind, member: text}
        output.append({"type": "message", "id": f"msg_{number}", "content": [part]})
    for index, (name, arguments) in enumerate(calls):
        ids = {"id": f"fc_{number}_{index}", "call_id": f"call_{number}_{index}"}
        item = {"type": "function_call", **ids, "name": name, "arguments": ""}
        yield {"type": "response.output_item.added", "output_index": len(output), "item": item}
        for piece in _pieces(arguments):
            kind = "response.function_call_arguments.delta"
            yield {"type": kind, "item_id": ids["id"], "delta": piece}
        output.append({**item, "arguments": arguments})
        yield {"type": "response.output_item.done", "item": output[-1]}
    if isinstance(turn, Hangs):
        return
    status = "incomplete" if cut else "completed"
    details = {"reason": "max_output_tokens"} if cut else None
    usage: dict[str, Any] = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    if kept == "read":
        usage["input_tokens_details"] = {"cached_tokens": KEPT_TOKENS}
    final = {**response, "status": status, "output": output, "usage": usage}
    yield {"type": f"response.{status}", "response": {**final, "incomplete_details": details}}


_EVENTS: dict[Protocol, Any] = {
    "chat": _chat_events,
    "messages": _messages_events,
    "responses": _responses_events,
}

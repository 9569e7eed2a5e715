"""Servers of models that send without end, or elsewhere."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from provider_kit import PROVIDERS, a_request, reply
from strict_rules import Protocol

from artificer.ports import Memo
from artificer.providers import sdk
from artificer.providers.attempts import AttemptLimits
from artificer.values.blocks import TextBlock, user
from artificer.values.model import ModelFailure, ModelReply

KILOBYTE = b"a" * 1024
STREAM = b"200 OK\r\nContent-Type: text/event-stream"


@dataclass
class Flood:
    """A server that answers with ``head`` and ``begin``, and with ``more`` while it is read."""

    head: bytes
    begin: bytes = b""
    more: bytes = b""
    url: str = ""
    requests: list[bytes] = field(default_factory=list)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[Flood]:
        """Listen on a free port of this machine."""
        async with await asyncio.start_server(self._answer, "127.0.0.1", 0) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 %s\r\nConnection: close\r\n\r\n%s" % (self.head, self.begin))
            await writer.drain()
            while self.more:
                writer.write(self.more)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def ask(protocol: Protocol, flood: Flood) -> ModelReply | ModelFailure:
    """Send one request, once."""
    async with flood.served(), asyncio.timeout(60):
        provider = PROVIDERS[protocol](
            base_url=flood.url, api_key="k", limits=AttemptLimits(attempts=1)
        )
        payload = provider.prepare(a_request(), (user("Hello."),), Memo())
        outcome = await provider.generate(payload, lambda _: None)
        await provider.aclose()
    return outcome


FLOODS = {
    "an error": Flood(b"500 X\r\nContent-Type: application/json", b"", KILOBYTE),
    "an error that claims to be events": Flood(
        b"400 X\r\nContent-Type: text/event-stream", b"", b"data: {}\n\n" * 100
    ),
    "no stream": Flood(b"200 OK\r\nContent-Type: application/json", b"", KILOBYTE),
    "a line": Flood(STREAM, b"data: ", KILOBYTE),
    "an event of many lines": Flood(STREAM, b"", b"data: %s\n" % KILOBYTE),
}


@pytest.mark.req("provider-hostile-stream")
@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
@pytest.mark.parametrize("what", FLOODS)
async def test_what_a_server_sends_without_end_is_not_read_to_its_end(
    what: str, protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "MAX_RESPONSE", 256 * 1024)
    failed = await ask(protocol, FLOODS[what])
    assert isinstance(failed, ModelFailure)
    assert "of more than 262144 bytes" in failed.message


@pytest.mark.req("provider-hostile-stream")
@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
@pytest.mark.parametrize("status", [b"200 OK", b"400 X"])
async def test_what_a_server_packs_is_not_unpacked(status: bytes, protocol: Protocol) -> None:
    head = status + b"\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip"
    flood = Flood(head, gzip.compress(bytes(1 << 20)))
    failed = await ask(protocol, flood)
    assert isinstance(failed, ModelFailure)
    assert "compressed the response" in failed.message
    assert b"accept-encoding: identity" in flood.requests[0].lower()


@pytest.mark.req("provider-hostile-stream")
@pytest.mark.parametrize("coding", [b"", b"identity", b"Identity"])
async def test_a_header_that_names_no_compression_is_not_taken_for_one(coding: bytes) -> None:
    stop = b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
    said = reply(await ask("chat", Flood(STREAM + b"\r\nContent-Encoding: " + coding, stop)))
    assert said.blocks == (TextBlock(text="Hi"),)


@pytest.mark.req("provider-hostile-stream")
@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"])
async def test_a_stream_of_any_length_is_read_event_by_event(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "MAX_RESPONSE", 1_000)
    line = end[: len(end) // 2]
    event = f'event: x{line}data: {{"choices": []}}{end}'.encode()
    stop = b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}'
    said = reply(await ask("chat", Flood(STREAM, event * 1_000 + stop + end.encode())))
    assert said.blocks == (TextBlock(text="Hi"),)


@pytest.mark.req("provider-redirects")
@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
@pytest.mark.parametrize("status", [b"301", b"302", b"303", b"307", b"308"])
async def test_no_conversation_follows_a_redirect(status: bytes, protocol: Protocol) -> None:
    other = Flood(b"200 OK")
    async with other.served():
        flood = Flood(status + b" X\r\nLocation: " + other.url.encode())
        failed = await ask(protocol, flood)
    assert isinstance(failed, ModelFailure) and failed.code == "bad_request"
    assert (
        failed.message == f"The server redirects (status {status.decode()}), which is not followed."
    )
    assert other.requests == []

"""Messages between the SDK and a server, without what the other side must not learn.

The SDK passes the text of every error to OpenTelemetry, in spans of its own, and logs what a server
sends and it cannot read: a server may echo secrets there, or send escape sequences to the terminal.
And it puts the trace and the baggage of the current span into every request, for every server:
those are taken out, and a server gets the trace of a call if it may know it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from artificer.backends.mcp.secrets import ServerSecrets

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage


CallFacts = dict[str, Any]
"""The members of a call's ``_meta``: names, and plain values."""

KEY_FACT, TOKEN_FACT = "artificer/idempotency-key", "artificer/fencing-token"
"""Where a server finds a call's idempotency key and its fencing token, in ``_meta``."""

TRACE_FACT = "artificer/traceparent"
"""The ``traceparent`` of a call on its way to the transport; a server finds it as `TRACE_NAMES[0]`.

Another name, because the SDK would write its own under that one.
"""

TRACE_NAMES = ("traceparent", "tracestate", "baggage")
"""The names in ``_meta`` that MCP keeps for W3C Trace Context and W3C Baggage."""

_LOGS = ("mcp.client.streamable_http", "mcp.client.auth.oauth2", "client")
"""The SDK's loggers that get a server's words. The same becomes an error, which is cleaned."""


def _is_not_the_sdks(record: logging.LogRecord) -> bool:
    return "/mcp/client/" not in record.pathname  # "client" may be another program's too


for _name in _LOGS:
    logging.getLogger(_name).addFilter(_is_not_the_sdks)


@asynccontextmanager
async def clean_messages(
    transport: AbstractAsyncContextManager[TransportStreams], secrets: ServerSecrets
) -> AsyncIterator[TransportStreams]:
    """Yield the streams of a transport, whose messages arrive without the server's secrets.

    ``secrets`` are those of the connection, as it learns them.
    """
    async with transport as (read, write):
        yield _CleanReader(read, secrets), _CleanWriter(write)


class _CleanReader:
    def __init__(
        self, read: ReadStream[SessionMessage | Exception], secrets: ServerSecrets
    ) -> None:
        self._read = read
        self._secrets = secrets

    async def receive(self) -> SessionMessage | Exception:
        return self._cleaned(await self._read.receive())

    async def aclose(self) -> None:
        await self._read.aclose()

    def __aiter__(self) -> _CleanReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._cleaned(await self._read.__anext__())

    async def __aenter__(self) -> _CleanReader:
        await self._read.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> bool | None:
        return await self._read.__aexit__(*exception)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    def _cleaned(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        from mcp.types import JSONRPCError

        if not isinstance(item, Exception) and isinstance(item.message, JSONRPCError):
            error, redactor = item.message.error, self._secrets.redactor
            error.message = redactor.clean(error.message)
            error.data = redactor.clean_value(error.data)
        return item


class _CleanWriter:
    def __init__(self, write: WriteStream[SessionMessage]) -> None:
        self._write = write

    async def send(self, item: SessionMessage) -> None:
        params = getattr(item.message, "params", None) or {}
        facts = params.get("_meta")
        if isinstance(facts, dict):
            _clean_facts(facts)
            if not facts:
                del params["_meta"]
        await self._write.send(item)

    async def aclose(self) -> None:
        await self._write.aclose()

    async def __aenter__(self) -> _CleanWriter:
        await self._write.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> bool | None:
        return await self._write.__aexit__(*exception)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._write, name)


def _clean_facts(facts: CallFacts) -> None:
    for name in TRACE_NAMES:
        facts.pop(name, None)
    if (parent := facts.pop(TRACE_FACT, None)) is not None:
        facts[TRACE_NAMES[0]] = parent

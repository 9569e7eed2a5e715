"""Error messages of a server, cleaned of secrets before the SDK receives them.

The SDK passes the text of every error to OpenTelemetry, in spans of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from artificer.backends.mcp.secrets import ServerSecrets

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared._stream_protocols import ReadStream
    from mcp.shared.message import SessionMessage


@asynccontextmanager
async def clean_refusals(
    transport: AbstractAsyncContextManager[TransportStreams], secrets: ServerSecrets
) -> AsyncIterator[TransportStreams]:
    """The same transport; ``secrets`` are those of the connection, as it learns them."""
    async with transport as (read, write):
        yield _CleanReader(read, secrets), write


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

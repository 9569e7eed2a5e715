"""The connection to one MCP server: opened on first use, reopened after the server's death.

A connection lives in its own task, because the SDK must leave it where it entered it; calls
come from any task.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from artificer.backends.mcp.messages import CallFacts, clean_messages
from artificer.backends.mcp.oauth import authorization
from artificer.backends.mcp.secrets import ServerSecrets
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.tools import MAX_TOOLS
from artificer.backends.mcp.stdio import StdioServer
from artificer.backends.process.environment import child_environment
from artificer.backends.secrets.redaction import Redactor
from artificer.errors import ConfigError, MissingExtraError
from artificer.secrets.resolver import ENVIRONMENT, Secrets
from artificer.values.base import JsonObject
from artificer.values.text import clip

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

MAX_RESPONSE = 8 * 1024 * 1024
"""Bytes of one HTTP response that is not an event stream; the SDK bounds each event."""

TOOLS_CHANGED = "The server says that its tools have changed; this run keeps those it began with."

CANCEL_GRACE = 0.5
"""Seconds that the SDK gets to tell a server that a call is cancelled."""

CLOSE_PATIENCE = 5.0
"""Seconds that a connection gets to close in order."""


class LinkError(Exception):
    """A server could not be reached or broke its protocol; the message is for the model."""


class McpLink:
    """One server's connection."""

    def __init__(self, server: McpServer, secrets: Secrets = ENVIRONMENT) -> None:
        """``secrets`` finds the values of references (default: in the environment).

        Raises MissingExtraError when the SDK is not installed.
        """
        if find_spec("mcp") is None:
            raise MissingExtraError("mcp", needed_for="An MCP server")
        self.server = server
        self.has_changed = False
        self._secrets = ServerSecrets(server.name, secrets)
        self._lock = asyncio.Lock()
        self._life: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._client: Client | None = None
        self._process: StdioServer | None = None
        self._calls = 0
        self._stale = False

    @property
    def redactor(self) -> Redactor:
        """Return what removes the connection's secrets from the server's answers."""
        return self._secrets.redactor

    async def list_tools(self) -> list[Tool]:
        """The server's tools, MAX_TOOLS at most. Raises LinkError."""
        from mcp.types import ListToolsRequest, ListToolsResult, PaginatedRequestParams

        tools: list[Tool] = []
        cursor: str | None = None
        seconds = self.server.start_seconds + CLOSE_PATIENCE  # more than the start alone may take
        while True:
            params = PaginatedRequestParams(cursor=cursor)
            page = await self._ask(ListToolsRequest(params=params), ListToolsResult, seconds)
            tools += page.tools
            if len(tools) > MAX_TOOLS:
                raise LinkError(f"it lists more than {MAX_TOOLS} tools")
            cursor = page.next_cursor
            if cursor is None or not page.tools:
                return tools

    async def call(
        self, tool: str, arguments: JsonObject, seconds: float, facts: CallFacts | None = None
    ) -> CallToolResult:
        """Call a tool; ``facts`` go into ``_meta``.

        Raises LinkError, and TimeoutError when the time is up.

        A server of ours that did not answer in time, or whose call was cancelled, is ended: it
        would continue with the call. A server behind a URL receives a cancellation.
        """
        from mcp.types import CallToolRequest, CallToolRequestParams, InputRequiredResult

        meta = {"_meta": facts} if facts else {}
        params = CallToolRequestParams(name=tool, arguments=dict(arguments), **meta)
        answer: CallToolResult | InputRequiredResult = await self._ask(
            CallToolRequest(params=params), _call_result(), seconds
        )
        if isinstance(answer, InputRequiredResult):
            wanted = {request.method for request in (answer.input_requests or {}).values()}
            what = ", ".join(sorted(wanted)) or "more input"
            raise LinkError(f"it asks for {what}, and no server may question a run")
        return answer

    def take_news(self) -> tuple[str, ...]:
        """Return the news about the server that a run has not had yet."""
        changed, self.has_changed = self.has_changed, False
        return (TOOLS_CHANGED,) if changed else ()

    async def aclose(self) -> None:
        """Close the connection; a server that was started has ended then, with all it started."""
        async with self._lock:
            await self._disconnect()

    async def _ask(self, request: Any, result: Any, seconds: float) -> Any:
        from mcp import MCPError

        self._calls += 1
        asking: asyncio.Task[Any] | None = None
        try:
            async with asyncio.timeout(seconds):
                client = await self._connected(seconds)
                asking = asyncio.create_task(client.session.send_request(request, result))
                await asyncio.wait((asking,))
            if asking.cancelled():
                raise LinkError("its connection was closed")
            return asking.result()
        except TimeoutError:
            raise
        except MCPError as error:
            raise LinkError(self._cleaned(error.message)) from error
        except (ValueError, RuntimeError, OSError) as error:
            raise LinkError(f"it broke the protocol ({type(error).__name__})") from error
        finally:
            self._calls -= 1
            await self._settle(asking)

    async def _settle(self, asking: asyncio.Task[Any] | None) -> None:
        """End what a call left unfinished."""
        if asking is not None and not asking.done():
            self._stale = True
            asking.cancel()
            await asyncio.wait((asking,), timeout=CANCEL_GRACE)
        if self._stale and not self._calls and self._process is not None:
            async with self._lock:
                await self._disconnect(at_once=True)

    async def _connected(self, seconds: float) -> Client:
        async with self._lock:
            if self._process is not None and self._process.is_dead:
                await self._disconnect()
            if self._life is None or self._life.done():
                await self._connect(min(seconds, self.server.start_seconds))
            assert self._client is not None
            return self._client

    async def _connect(self, seconds: float) -> None:
        self._stop, self._stale = asyncio.Event(), False
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live(ready))
        try:
            await asyncio.wait((self._life, ready), timeout=seconds, return_when="FIRST_COMPLETED")
            if not ready.done():
                raise LinkError(f"it did not answer within {seconds:g} s{self._last_words()}")
            await ready
        except BaseException:  # a cancellation too: nobody would know of this connection
            await self._disconnect(at_once=True)
            raise

    async def _live(self, ready: asyncio.Future[None]) -> None:
        """Hold the connection open until it is to be closed."""
        from mcp import Client

        try:
            receive = self._receive
            async with (
                self._transport() as transport,
                Client(transport, cache=None, message_handler=receive) as client,
            ):
                self._client = client
                ready.set_result(None)
                await self._stop.wait()
        except (ConfigError, LinkError) as error:
            _tell(ready, error)
        except OSError as error:
            _tell(ready, LinkError(f"it cannot be started: {error.strerror or error}"))
        except Exception as error:  # noqa: BLE001 - what a server says may make the SDK raise
            what = f"it did not start ({_cause(error, self._cleaned)}){self._last_words()}"
            _tell(ready, LinkError(what))

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        server = self.server
        if server.command:
            env = {**child_environment(os.environ), **await self._secrets.fill(server.env)}
            self._process = StdioServer(server.command, env, server.cwd, server.lock)
            yield clean_messages(self._process, self._secrets)
            return
        # Only for servers over HTTP: the client is slow to import.
        from mcp.client.streamable_http import streamable_http_client

        from artificer.backends.mcp.http import bounded_client

        headers, own, auth = await self._secrets.fill(server.headers), [server.url], None
        if server.oauth is not None:
            own.append(server.oauth.issuer)
            auth = await authorization(server.oauth, server.url, self._secrets)
        async with bounded_client(headers, MAX_RESPONSE, *own, auth=auth) as http:
            yield clean_messages(
                streamable_http_client(server.url, http_client=http), self._secrets
            )

    async def _receive(self, message: object) -> None:
        """Note a message of a server. A run's tools are those that it began with."""
        from mcp.types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.has_changed = True

    async def _disconnect(self, *, at_once: bool = False) -> None:
        """Close the connection, and come back when it is closed, also from a cancellation."""
        life, self._life, self._client = self._life, None, None
        if life is None:
            return
        self._stop.set()
        if at_once:
            if self._process is not None:
                self._process.impatient = True
            life.cancel()
        cancelled: asyncio.CancelledError | None = None
        while not life.done():
            try:
                _, waiting = await asyncio.wait((life,), timeout=CLOSE_PATIENCE)
                if waiting:
                    life.cancel()
            except asyncio.CancelledError as error:
                cancelled = error
        self._process = None
        if cancelled is not None:
            raise cancelled

    def _cleaned(self, message: str) -> str:
        return clip(self._secrets.redactor.clean(message), 1_000)

    def _last_words(self) -> str:
        if self._process is None:
            return ""
        redactor = self._secrets.redactor
        errors = redactor.clean(self._process.errors)
        if self._process.errors_cut:
            errors = errors[redactor.longest :]  # the end of a secret may stand there
        last = errors if len(errors) <= 500 else f"…{errors[-500:]}"
        return f"; it said: {last}" if errors else ""


@lru_cache(maxsize=1)
def _call_result() -> Any:
    """Return the type of the results of ``tools/call``."""
    from mcp.types import CallToolResult, InputRequiredResult
    from pydantic import TypeAdapter

    return TypeAdapter(CallToolResult | InputRequiredResult)


def _cause(error: Exception, clean: Callable[[str], str]) -> str:
    """The first error of a group, by its name and what it says."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    errors = clean(str(error)).partition("\n")[0]
    return f"{type(error).__name__}: {clip(errors, 200)}" if errors else type(error).__name__


def _tell(ready: asyncio.Future[None], error: Exception) -> None:
    if not ready.done():
        ready.set_exception(error)
        ready.exception()  # the waiting task may have given up

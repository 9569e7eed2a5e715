"""Tools for any MCP client. Each call is a run whose model is the client, and passes the same gate.

So a call is judged, recorded before it acts, kept with its evidence and replayable, like every
other; ``artificer runs`` lists it.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from artificer.cli.mcp.apps import EXTENSION
from artificer.cli.mcp.ask import INPUT
from artificer.cli.mcp.call import Underway
from artificer.cli.mcp.log import ClientLog
from artificer.cli.mcp.resources import Resources
from artificer.cli.mcp.wire import MAX_MESSAGE, Served, answer, listed
from artificer.errors import ArtificerError, MissingExtraError
from artificer.values.release import RELEASE
from artificer.world import World

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp.types import CallToolRequestParams, CallToolResult, InputRequiredResult

MAX_WAITING = 100
"""Limit on the calls that wait for an answer."""


class ToolServer:
    """Serves tools in a world. ``world`` must not add tools of its own to a run."""

    def __init__(self, world: World, served: Sequence[Served], resources: Resources) -> None:
        self._world = world
        self._served = {tool.definition.name: tool for tool in served}
        self._resources = resources
        self._log = ClientLog()
        self._waiting: dict[str, Underway] = {}

    def build(self) -> Server[Any]:
        """The MCP server, ready for any transport. Raises MissingExtraError without the SDK."""
        try:
            from mcp.server import Server
            from mcp.types import SetLevelRequestParams
        except ImportError as error:
            raise MissingExtraError("mcp", needed_for="artificer mcp") from error
        server: Server[Any] = Server(
            "artificer",
            version=RELEASE,
            instructions="Each call is checked, recorded and performed as a run of its own.",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_list_resources=self._resources.list,
            on_list_resource_templates=self._resources.templates,
            on_read_resource=self._resources.read,
        )
        server.extensions[EXTENSION] = {}
        # Given to the constructor it would warn of being deprecated, which clients are not yet.
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._log.set_level)
        return server

    async def aclose(self) -> None:
        """End the calls that wait for an answer."""
        waiting, self._waiting = [*self._waiting.values()], {}
        for call in waiting:
            await call.end()

    async def _list(self, ctx: object, params: object) -> Any:
        from mcp.types import ListToolsResult

        return ListToolsResult(tools=[listed(tool) for tool in self._served.values()])

    async def _call(
        self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        from mcp import MCPError
        from mcp.types import INTERNAL_ERROR, InputRequiredResult

        call = self._again(params) if params.request_state else self._new(ctx, params)
        is_waiting = False
        try:
            is_waiting = not await call.watch(ctx)
        finally:
            if not is_waiting:
                await call.end()
        assert call.task is not None
        if is_waiting and call.approver.request is not None:
            token = call.approver.token
            self._waiting[token] = call
            call.task.add_done_callback(lambda _: self._waiting.pop(token, None))
            return InputRequiredResult(
                input_requests={INPUT: call.approver.request}, request_state=token
            )
        try:
            run = call.task.result()
            names = self._resources.put(run.id, await self._world.archive.history(run.id))
            return answer(call.served, call.caller.result, run, names)
        except ArtificerError as error:
            raise MCPError(INTERNAL_ERROR, error.message) from error

    def _new(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> Underway:
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS

        served = self._served.get(params.name)
        if served is None:
            known = ", ".join(self._served) or "none"
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}. Known: {known}.")
        if len(self._waiting) >= MAX_WAITING:
            raise MCPError(INVALID_PARAMS, f"{MAX_WAITING} calls wait for an answer already.")
        run = self._world.clock.new_run_id()
        call = Underway.of(served, params.arguments or {}, ctx, self._log, run)
        call.begin(self._world)
        return call

    def _again(self, params: CallToolRequestParams) -> Underway:
        """The call that waited for the input of this one. Its token is valid once."""
        from mcp import MCPError
        from mcp.types import INVALID_PARAMS, ElicitResult

        call = self._waiting.get(params.request_state or "")
        if call is None or not call.is_same(params.name, params.arguments or {}):
            raise MCPError(INVALID_PARAMS, "No such call waits for an answer.")
        del self._waiting[call.approver.token]
        brought = (params.input_responses or {}).get(INPUT)
        call.approver.answer(brought if isinstance(brought, ElicitResult) else None)
        call.approver.needs_input.clear()
        return call


async def serve_http(server: Server[Any], listening: socket.socket) -> None:
    """Serve at ``http://127.0.0.1:PORT/mcp``, to this machine alone, until cancelled.

    Requests that name another host, as a page behind DNS rebinding would, are refused, and so are
    messages of more than MAX_MESSAGE bytes.
    """
    import uvicorn

    app = server.streamable_http_app(host="127.0.0.1", max_request_body_size=MAX_MESSAGE)
    config = uvicorn.Config(app, log_level="warning", lifespan="on")
    await uvicorn.Server(config).serve(sockets=[listening])

"""Tools for any MCP client. Each call is a run whose model is the client, and passes the same gate.

So a call is judged, recorded before it acts, kept with its evidence and replayable, like every
other; ``artificer runs`` lists it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from artificer.artifacts import catalog
from artificer.artifacts.placeholder import placeholder
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.schema import compile_schema
from artificer.core.spec import RunKind
from artificer.errors import ArtificerError, MissingExtraError
from artificer.ports import Executor
from artificer.providers.scripted import ScriptedProvider, reply, say
from artificer.runs import Run
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolResultBlock, ToolUseBlock
from artificer.values.model import ModelReply
from artificer.values.release import RELEASE
from artificer.values.strict_json import parse_object
from artificer.world import World

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp.types import CallToolRequestParams, CallToolResult, Tool

PROGRESS_SECONDS = 1.0
"""How often a client that asked for it is told that a call goes on."""

RUN_KEY = "artificer/run"
"""Where a result names its run, in ``_meta``."""


@dataclass(frozen=True)
class Served:
    """A tool as it is served: what performs it, in a run of which kind, and what it answers."""

    definition: ToolDefinition
    executor: Executor
    kind: RunKind
    output_schema: JsonObject | None


class Caller(ScriptedProvider):
    """A client in the place of the model: it asks for one call, and then has no more to say."""

    def __init__(self, tool: str, arguments: str) -> None:
        super().__init__(self._answer)
        self._call = ToolUseBlock(id="", name=tool, arguments=arguments)
        self.result: ToolResultBlock | None = None

    def _answer(self, body: JsonObject) -> ModelReply:
        messages = body["messages"]
        assert isinstance(messages, list)
        last: Any = messages[-1]
        blocks = [block for block in last["blocks"] if block["type"] == "tool_result"]
        if not blocks:
            return reply(self._call)
        self.result = ToolResultBlock.model_validate(blocks[0])
        return say(self._closing(self.result))

    def _closing(self, result: ToolResultBlock) -> str:
        """The end of the run: an artifact that was made is cited, so that its report shows it."""
        arguments = parse_object(self._call.arguments)
        made = catalog.is_artifact_tool(self._call.name) and not result.is_error
        if not made or isinstance(arguments, tuple):
            return f"{self._call.name}: {result.status}."
        _, artifact, _ = catalog.identity(self._call.name, arguments)
        return placeholder(catalog.kind_of(self._call.name), artifact)


class ToolServer:
    """Serves tools in a world. ``world`` must not add tools of its own to a run."""

    def __init__(self, world: World, served: Sequence[Served]) -> None:
        self._world = world
        self._served = {tool.definition.name: tool for tool in served}

    def build(self) -> Server[Any]:
        """The MCP server, ready for any transport. Raises MissingExtraError without the SDK."""
        try:
            from mcp.server import Server
        except ImportError as error:
            raise MissingExtraError("mcp", needed_for="artificer mcp") from error
        return Server(
            "artificer",
            version=RELEASE,
            instructions="Each call is checked, recorded and performed as a run of its own.",
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(self, ctx: object, params: object) -> Any:
        from mcp.types import ListToolsResult

        return ListToolsResult(tools=[_listed(tool) for tool in self._served.values()])

    async def _call(
        self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        from mcp import MCPError
        from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

        served = self._served.get(params.name)
        if served is None:
            known = ", ".join(self._served) or "none"
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}. Known: {known}.")
        caller = Caller(params.name, json.dumps(params.arguments or {}))
        running = asyncio.create_task(self._run(served, caller))
        try:
            await self._watch(ctx, running, served.definition.timeout_ms / 1000)
        finally:
            await _end(running)
        try:
            return _answer(served, caller, running.result())
        except ArtificerError as error:
            raise MCPError(INTERNAL_ERROR, error.message) from error

    async def _watch(
        self, ctx: ServerRequestContext[Any, Any], running: asyncio.Task[Run], seconds: float
    ) -> None:
        """Wait for a call, and tell a client that wants to know how long it has been going on."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            elapsed = min(loop.time() - began, seconds)
            await ctx.session.report_progress(round(elapsed, 1), seconds, "running")
            done, _ = await asyncio.wait((running,), timeout=PROGRESS_SECONDS)
            if done:
                return

    async def _run(self, served: Served, caller: Caller) -> Run:
        from artificer.system import SystemClock

        run_id = SystemClock().new_run_id()
        try:
            return await self._world.run(
                f"A client's call of {served.definition.name}.",
                model=caller,
                kind=served.kind,
                tools=() if served.kind == "deliver" else (served.executor,),
                offer=(served.definition.name,),
                system="",
                run_id=run_id,
            )
        except asyncio.CancelledError:
            # The client has cancelled: whatever the call started has ended by now.
            await self._world.cancel(run_id, "The client cancelled the call.")
            raise


async def _end(running: asyncio.Task[Run]) -> None:
    """End a call whose client is gone. Comes back when it has ended, also from a cancellation."""
    import anyio

    if running.done():
        return
    running.cancel()
    with anyio.CancelScope(shield=True):
        await asyncio.wait((running,))


def _listed(served: Served) -> Tool:
    from mcp.types import Tool, ToolAnnotations

    definition = served.definition
    return Tool(
        name=definition.name,
        description=definition.description,
        input_schema=definition.input_schema,
        output_schema=served.output_schema,
        annotations=ToolAnnotations(
            read_only_hint=definition.effect == "pure",
            idempotent_hint=definition.effect in ("pure", "idempotent"),
        ),
    )


def _answer(served: Served, caller: Caller, run: Run) -> CallToolResult:
    """A result: structured content where the call succeeded, and never beside an error."""
    from mcp.types import CallToolResult, TextContent

    result = caller.result
    text = result.content if result else f"The run {run.id} ended without a result: {run.status}."
    failed = result is None or result.is_error
    structured = None if failed else _structured(served.output_schema, text)
    if served.output_schema is not None and structured is None:
        failed = True  # a success without what the schema promises would be none
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=structured,
        is_error=failed,
        _meta={RUN_KEY: run.id},
    )


def _structured(schema: JsonObject | None, text: str) -> JsonObject | None:
    value = parse_object(text)
    if isinstance(value, tuple) or (schema and compile_schema(schema).problems(value)):
        return None
    return value


def serve_stdio(server: Server[Any]) -> Any:
    """Serve on standard input and output until the client closes them."""
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    return serve()


async def serve_http(server: Server[Any], port: int) -> None:
    """Serve at ``http://127.0.0.1:PORT/mcp``, to this machine alone, until cancelled.

    Requests that name another host, as a page behind DNS rebinding would, are refused.
    """
    import uvicorn

    app = server.streamable_http_app(host="127.0.0.1")
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="on")
    await uvicorn.Server(config).serve()

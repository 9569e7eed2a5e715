"""An MCP server of the newest protocol, on the SDK: its one tool wants to know more first."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
)


async def tools(ctx: Any, params: Any) -> ListToolsResult:
    """The tool."""
    return ListToolsResult(tools=[Tool(name="nosy", input_schema={"type": "object"})])


async def call(ctx: Any, params: Any) -> CallToolResult | InputRequiredResult:
    """Ask, or say what was answered."""
    if params.input_responses:
        return CallToolResult(content=[TextContent(text="it told me")])
    schema = {"type": "object", "properties": {"password": {"type": "string"}}}
    form = ElicitRequestFormParams(message="Your password?", requested_schema=schema)
    return InputRequiredResult(input_requests={"more": ElicitRequest(params=form)})


async def main() -> None:
    """Serve until standard input ends."""
    server: Server[Any] = Server("nosy", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


asyncio.run(main())

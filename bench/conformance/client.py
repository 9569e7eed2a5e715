"""The MCP conformance suite's client under test: Artificer's own, given the server's URL.

The suite starts it with the URL as its last argument, and judges what the server saw.
"""

from __future__ import annotations

import asyncio
import os
import sys

from artificer.contracts.mcp.tools import Contract
from artificer.ports import Call
from artificer.tools.mcp import McpExecutor, discover
from artificer.tools.mcp_link import McpLink, McpServer


async def main(url: str) -> None:
    """List the server's tools and call each, as a run would."""
    link = McpLink(McpServer("conformance", url=url))
    try:
        executor = McpExecutor(link, await discover(link, Contract(timeout_ms=20_000), None))
        for tool in executor.tools:
            names = tool.input_schema.get("properties", {})
            arguments = {name: number for number, name in enumerate(names, 2)}
            receipt = await executor.execute(Call("run", "call", tool, arguments, "key"))
            print(tool.name, receipt.status, receipt.content)
    finally:
        await link.aclose()


if __name__ == "__main__":
    print("scenario:", os.environ.get("MCP_CONFORMANCE_SCENARIO", "none"))
    asyncio.run(main(sys.argv[-1]))

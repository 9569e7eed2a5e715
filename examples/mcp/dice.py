"""A small MCP server for Artificer to use: see artificer.toml next to it."""

from __future__ import annotations

import random

from mcp.server.mcpserver import MCPServer

server = MCPServer("dice")


@server.tool()
def roll(sides: int, times: int = 1) -> list[int]:
    """Roll dice."""
    return [random.randint(1, sides) for _ in range(times)]


if __name__ == "__main__":
    server.run("stdio")

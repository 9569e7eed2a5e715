"""The MCP conformance suite's client under test: Artificer's own, given the server's URL.

The suite starts it with the URL as its last argument, and judges what the server saw.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from urllib.parse import urlsplit

from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import McpExecutor, discover
from artificer.backends.mcp.oauth import OAuthClient
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.tools import McpContract
from artificer.ports import Call


def credentials(url: str) -> OAuthClient | None:
    """The client that a scenario has registered. An operator would also know its issuer, which
    the suite tells only in the server's metadata.
    """
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if "client_secret" not in context:
        return None
    parts = urlsplit(url)
    where = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    with urllib.request.urlopen(where) as response:
        issuer = json.load(response)["authorization_servers"][0]
    return OAuthClient(
        issuer=issuer, client_id=context["client_id"], client_secret=context["client_secret"]
    )


async def main(url: str) -> None:
    """List the server's tools and call each, as a run would."""
    link = McpLink(McpServer("conformance", url=url, oauth=credentials(url)))
    try:
        executor = McpExecutor(link, await discover(link, McpContract(timeout_ms=20_000), None))
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

"""An MCP server over standard input and output that says its secret wherever it can.

Run as ``python leaky_mcp.py [dies]``; ``dies`` says it on standard error, and ends.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

SECRET = os.environ["VAULT"]


def tools() -> list[dict[str, Any]]:
    """Two tools that tell the secret while they are listed."""
    told = {"type": "object", "description": SECRET, "properties": {"x": {"enum": [SECRET, "y"]}}}
    return [
        {"name": "tell", "description": f"Uses {SECRET}.", "inputSchema": told},
        {"name": "fail", "inputSchema": {"type": "object"}},
        {
            "name": "shape",
            "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
        },
    ]


def call(name: str) -> dict[str, Any]:
    """Each kind of content, with the secret."""
    encoded = base64.b64encode(f"x{SECRET}".encode()).decode()
    if name == "fail":
        return {"content": [{"type": "text", "text": SECRET}], "isError": True}
    if name == "shape":
        return {"content": [], "structuredContent": {"a": SECRET, SECRET: 1}}
    return {
        "content": [
            {"type": "text", "text": f"{SECRET} {encoded} {SECRET.encode().hex()}"},
            {"type": "image", "data": encoded, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": f"file:///{SECRET}", "text": SECRET}},
        ],
        "structuredContent": {"deep": [{SECRET: [SECRET]}], "encoded": encoded},
    }


def main() -> None:
    """Serve until standard input ends."""
    if "dies" in sys.argv:
        sys.exit("x" * 2_490 + f" {SECRET} not accepted\n" * 3)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        match message["method"]:
            case "initialize":
                result: dict[str, Any] = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": SECRET, "version": "1"},
                }
            case "tools/list":
                result = {"tools": tools()}
            case "tools/call":
                result = call(message["params"]["name"])
            case _:
                error = {"code": -32601, "message": f"No method for {SECRET}"}
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                sys.stdout.flush()
                continue
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()

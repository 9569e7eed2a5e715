"""MCP servers that want something of the run, and servers that want to be authorized."""

from __future__ import annotations

import base64
import json
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from http_support import Answer, Seen, answer, serving

from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import McpExecutor, discover
from artificer.backends.mcp.oauth import OAuthClient
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.settings import McpServerConfig
from artificer.backends.mcp.spec.tools import McpContract
from artificer.errors import ConfigError
from artificer.ports import Call, Receipt
from artificer.secrets.resolver import of_environment

HERE = Path(__file__).parent
CONTRACT = McpContract(timeout_ms=20_000)


async def call(link: McpLink, name: str, **arguments: Any) -> Receipt:
    """Find the server's tools anew, and call one."""
    executor = McpExecutor(link, await discover(link, CONTRACT, None))
    tool = next(tool for tool in executor.tools if tool.name.endswith(f".{name}"))
    return await executor.execute(Call("r", "c", tool, arguments, "k"))


def started(script: str) -> McpLink:
    """A server of a script."""
    return McpLink(McpServer("stub", command=(sys.executable, str(HERE / script))))


@pytest.mark.req("mcp-client-asked")
@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
async def test_a_server_that_questions_a_run_is_refused_and_answered_at_once(method: str) -> None:
    link = started("mcp_stub.py")
    receipt = await call(link, "asks", x=method)
    await link.aclose()
    reply = json.loads(json.loads(receipt.content)["output"])
    assert "error" in reply and "result" not in reply


@pytest.mark.req("mcp-client-asked")
async def test_a_server_that_demands_input_is_refused_and_told_of() -> None:
    link = started("mcp_modern.py")
    receipt = await call(link, "nosy")
    await link.aclose()
    assert receipt.status == "error" and "it told me" not in receipt.content
    assert "asks for elicitation/create, and no server may question a run" in receipt.content


@pytest.mark.req("mcp-client-asked")
async def test_that_a_servers_tools_have_changed_is_noted_once() -> None:
    link = started("mcp_stub.py")
    executor = McpExecutor(link, await discover(link, CONTRACT, None))
    tools = {tool.name: tool for tool in executor.tools}
    said = []
    for name in ("changes", "echo", "echo"):
        tool = tools[f"stub.{name}"]
        said.append((await executor.execute(Call("r", "c", tool, {"x": "a"}, "k"))).content)
    await link.aclose()
    assert sum("its tools have changed" in content for content in said) == 1
    assert "keeps those it began with" in "".join(said[:2])


class Authority:
    """A server that wants a token, and the authorization server that gives them, in one place.

    ``issuer`` is what it calls itself, in the place of its address.
    """

    def __init__(self, issuer: str = "") -> None:
        self.issuer = issuer
        self.granted = 0

    def __call__(self, handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        """Answer one request."""
        url = f"http://{handler.headers['Host']}"
        self._answer(url, seen)(handler, seen)

    def _answer(self, url: str, seen: Seen) -> Answer:
        path = seen.target.partition("?")[0]
        if path.startswith("/.well-known/oauth-protected-resource"):
            return said({"resource": f"{url}/mcp", "authorization_servers": [self.issuer or url]})
        if path.startswith("/.well-known/"):
            issuer = self.issuer or url
            return said(
                {
                    "issuer": issuer,
                    "token_endpoint": f"{url}/token",
                    "authorization_endpoint": f"{url}/authorize",
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["client_credentials"],
                    "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                }
            )
        if path == "/token":
            form = parse_qs(seen.body.decode())
            basic = base64.b64encode(b"me:sesame open").decode()
            good = seen.headers.get("Authorization") in (
                f"Basic {basic}",
                "Basic " + base64.b64encode(b"me:sesame%20open").decode(),
                "Basic " + base64.b64encode(b"me:sesame+open").decode(),
            )
            if not good or form["grant_type"] != ["client_credentials"]:
                return said({"error": "invalid_client"}, 401)
            self.granted += 1
            return said({"access_token": "token-of-the-day", "token_type": "Bearer"})
        if seen.headers.get("Authorization") != "Bearer token-of-the-day":
            where = f'Bearer resource_metadata="{url}/.well-known/oauth-protected-resource"'
            return answer(401, "", {"WWW-Authenticate": where})
        return rpc(seen)


def said(body: Any, status: int = 200) -> Answer:
    """A response of JSON."""
    return answer(status, json.dumps(body), {"Content-Type": "application/json"})


def rpc(seen: Seen) -> Answer:
    """A server whose one tool repeats the token that it was sent."""
    message = json.loads(seen.body or b"{}")
    if "id" not in message:
        return answer(202)
    match message["method"]:
        case "initialize":
            about = {"name": "s", "version": "1"}
            version = message["params"]["protocolVersion"]
            result: Any = {"protocolVersion": version, "capabilities": {}, "serverInfo": about}
        case "tools/list":
            result = {"tools": [{"name": "leak", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            text = f"you sent {seen.headers['Authorization']}"
            result = {"content": [{"type": "text", "text": text}]}
        case _:
            return answer(404)
    return said({"jsonrpc": "2.0", "id": message["id"], "result": result})


def client(url: str, issuer: str, secret: str = "{_secret:pass}") -> McpLink:
    """A connection with the operator's credentials."""
    oauth = OAuthClient(issuer=issuer, client_id="me", client_secret=secret)
    server = McpServer("far", url=f"{url}/mcp", oauth=oauth, start_seconds=20)
    return McpLink(server, of_environment({"ARTIFICER_SECRET_PASS": "sesame open"}))


@pytest.mark.req("mcp-client-oauth")
async def test_a_token_is_had_for_the_operators_credentials_and_kept_to_itself() -> None:
    authority = Authority()
    with serving(authority) as server:
        link = client(server.url, server.url)
        receipt = await call(link, "leak")
        await link.aclose()
    assert receipt.status == "ok" and authority.granted == 1
    told = receipt.content + (receipt.evidence or "")
    assert "token-of-the-day" not in told and "[secret access token]" in told


@pytest.mark.req("mcp-client-oauth")
async def test_another_authorization_server_is_sent_nothing() -> None:
    authority = Authority()
    with serving(authority) as server:
        link = client(server.url, "https://auth.example.org")
        with pytest.raises(ConfigError):
            await discover(link, CONTRACT, None)
        await link.aclose()
        assert not [seen for seen in server.seen if seen.target == "/token"]


@pytest.mark.req("mcp-client-oauth")
async def test_credentials_that_are_wrong_or_missing_are_told() -> None:
    with serving(Authority()) as server:
        wrong = client(server.url, server.url, "wrong")
        with pytest.raises(ConfigError, match="cannot be used") as caught:
            await discover(wrong, CONTRACT, None)
        await wrong.aclose()
        unset = client(server.url, server.url, "{_secret:nowhere}")
        with pytest.raises(ConfigError, match="needs the secret 'nowhere'"):
            await discover(unset, CONTRACT, None)
        await unset.aclose()
    assert "wrong" not in caught.value.message


@pytest.mark.req("mcp-client-oauth")
def test_oauth_is_for_servers_behind_a_url() -> None:
    oauth = {"issuer": "https://a", "client_id": "me", "client_secret": "s"}
    with pytest.raises(ValueError, match="for servers with a 'url'"):
        McpServerConfig.from_json({"command": ("x",), "oauth": oauth})
    assert McpServerConfig.from_json({"url": "https://s", "oauth": oauth}).oauth

"""Tools of other MCP servers: bounded, behind our contracts, and ended with all they started."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from http_support import Seen, answer, serving
from tools_support import appears

from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import McpExecutor, McpTool, discover
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.tools import McpContract, RemoteFacts, RemoteTool, adopt
from artificer.contracts.arguments.types import Argument
from artificer.contracts.definition import ToolDefinition
from artificer.errors import ConfigError, ToolDefinitionError
from artificer.ports import Call, Receipt
from artificer.secrets.resolver import of_environment
from artificer.storage.blobs.memory import MemoryStore

STUB = (sys.executable, str(Path(__file__).with_name("mcp_stub.py")))
CONTRACT = McpContract(timeout_ms=10_000)


@asynccontextmanager
async def linked(
    *mode: str, env: Mapping[str, str] | None = None, secrets: Mapping[str, str] | None = None
) -> AsyncIterator[McpLink]:
    """A connection to the stub."""
    link = McpLink(
        McpServer("stub", command=(*STUB, *mode), env=env or {}), of_environment(secrets or {})
    )
    try:
        yield link
    finally:
        await link.aclose()


async def call(
    executor: McpExecutor, name: str, /, timeout_ms: int = 10_000, **arguments: Any
) -> Receipt:
    """Call a tool."""
    tool = next(tool for tool in executor.tools if tool.name == f"stub.{name}")
    limited = tool.replace(timeout_ms=timeout_ms)
    return await executor.execute(Call("r", "c", limited, arguments, "k"))


def read(receipt: Receipt) -> dict[str, Any]:
    """Return what the model reads."""
    said: dict[str, Any] = json.loads(receipt.content)
    return said


def lives(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.req("mcp-client-tools")
async def test_a_servers_tools_become_tools_under_the_operators_contract() -> None:
    async with linked() as link:
        tools = await discover(link, McpContract(effect="pure", risk="high"), None)
    definitions = [tool.tool.definition for tool in tools]
    add = definitions[0]
    assert (add.name, add.effect, add.risk, add.backend) == ("stub.add", "pure", "high", "mcp")
    assert add.input_schema["properties"]["a"]["maximum"] == 9  # type: ignore[index, call-overload]
    assert len({tool.name for tool in definitions}) == len(definitions)
    assert definitions[-1].name.startswith("stub.a_b___"), "a name that is none of ours is mapped"


@pytest.mark.req("mcp-client-tools")
async def test_only_the_allowed_tools_are_taken_and_a_missing_one_is_an_error() -> None:
    async with linked() as link:
        tools = await discover(link, CONTRACT, ["echo"])
        assert [tool.tool.remote for tool in tools] == ["echo"]
        with pytest.raises(ConfigError, match="has no tool 'nope'"):
            await discover(link, CONTRACT, ["nope"])


@pytest.mark.req("mcp-client-hostile")
async def test_what_a_server_says_of_itself_is_bounded_readable_and_labelled() -> None:
    async with linked() as link:
        add = (await discover(link, CONTRACT, ["add"]))[0].tool.definition
    assert add.description.startswith("(A tool of the MCP server 'stub', which says of it:) Add.")
    assert "\u202e" not in add.description
    assert len(add.description) < 2_100


@pytest.mark.req("mcp-client-hostile")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object", "properties": {"a": {"$ref": "http://evil.example/s.json"}}},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        {"type": "object", "properties": {"a": {"description": "x", "enum": ["y" * 70_000]}}},
    ],
)
def test_a_schema_that_cannot_hold_a_model_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError):
        adopt("s", RemoteFacts(name="t", input_schema=schema), CONTRACT)


A: dict[str, Any] = {"$defs": {"a": {}}}


def doubled(reference: str, **own: str) -> dict[str, Any]:
    """A schema of 40 definitions, each of which refers to the next one twice."""
    definitions: dict[str, Any] = {
        f"a{n}": {
            **{key: value.format(n) for key, value in own.items()},
            "allOf": [{"$ref": reference.format(n + 1)}] * 2,
        }
        for n in range(40)
    }
    last = {key: value.format(40) for key, value in own.items()}
    return {"$defs": {**definitions, "a40": last}, "$ref": reference.format(0)}


@pytest.mark.req("mcp-client-hostile")
@pytest.mark.parametrize(
    "schema",
    [
        doubled("#/$defs/a{}"),
        doubled("#/%24defs/a{}"),
        doubled("#a{}", **{"$anchor": "a{}"}),
        doubled("urn:a{}", **{"$id": "urn:a{}"}),
        {"$defs": {"own": {"$id": "urn:own", **doubled("#/$defs/a{}")}}, "$ref": "urn:own"},
        {"$defs": {f"{n}": {"$id": f"urn:{n}", "$ref": "#/$defs/a", **A} for n in range(900)}},
    ],
    ids=["pointer", "escaped", "anchor", "id", "embedded", "resources"],
)
def test_a_schema_that_takes_for_ever_is_refused(schema: dict[str, Any]) -> None:
    for own in ({"input_schema": schema}, {"input_schema": {}, "output_schema": schema}):
        with pytest.raises(ToolDefinitionError, match="references followed"):
            adopt("s", RemoteFacts(name="t", **own), CONTRACT)


@pytest.mark.req("mcp-client-hostile")
def test_a_schema_of_trees_is_adopted() -> None:
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    chained = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "string"}}}
    for schema in (tree, chained, {**chained, "properties": {"a": {"$ref": "#/$defs/a"}}}):
        assert adopt("s", RemoteFacts(name="t", input_schema=schema), CONTRACT)


@pytest.mark.req("mcp-client-results")
async def test_structured_content_is_preferred_and_held_to_its_schema() -> None:
    async with linked() as link:
        tools = await discover(link, CONTRACT, None)
        wrong = next(t.tool for t in tools if t.tool.remote == "wrong")
        lying = wrong.replace(output_schema=tools[0].tool.output_schema)
        executor = McpExecutor(link, [tools[0], McpTool(lying)])
        good = await call(executor, "add", a=1, b=2)
        bad = await call(executor, "wrong")
    assert (good.status, read(good)) == ("ok", {"status": "success", "results": {"sum": 3}})
    assert bad.status == "error"
    assert "breaks its schema" in read(bad)["fault"]


@pytest.mark.req("mcp-client-results")
async def test_errors_floods_and_pictures() -> None:
    store = MemoryStore()
    async with linked() as link:
        executor = McpExecutor(link, await discover(link, CONTRACT, None), blobs=store)
        failed = await call(executor, "fail", x="why")
        flood = await call(executor, "flood", x="3000000")
        picture = await call(executor, "picture")
    assert (failed.status, read(failed)["output"]) == ("error", "no: why")
    assert flood.status == "ok"
    assert len(flood.content) <= 32_000
    assert json.loads(flood.evidence or "")["output"]["size"] == 3_000_000
    (digest,) = json.loads(picture.evidence or "")["blobs"]
    assert store.get(digest) == b"hello"


@pytest.mark.req("mcp-client-bounded")
async def test_a_line_of_any_length_is_not_read() -> None:
    async with linked() as link:
        executor = McpExecutor(link, await discover(link, CONTRACT, None))
        receipt = await call(executor, "flood", x="9000000")
        again = await call(executor, "echo", x="back")
    assert receipt.status == "error"
    assert read(again)["output"] == "back", "the server is started anew"


@pytest.mark.req("mcp-client-dead")
async def test_a_server_that_dies_in_a_call_is_an_error_and_is_started_anew() -> None:
    async with linked() as link:
        executor = McpExecutor(link, await discover(link, CONTRACT, None))
        died = await call(executor, "die")
        again = await call(executor, "echo", x="back")
    assert died.status == "error"
    assert "The MCP server 'stub' failed" in read(died)["fault"]
    assert read(again)["output"] == "back"


@pytest.mark.req("mcp-client-dead")
async def test_a_server_that_was_killed_while_its_child_holds_its_pipe(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with linked() as link:
        executor = McpExecutor(link, await discover(link, CONTRACT, None))
        calling = asyncio.create_task(call(executor, "hang", timeout_ms=60_000, x=str(pids)))
        await appears(pids)
        server, child = map(int, pids.read_text().split())
        os.kill(server, 9)
        async with asyncio.timeout(50):  # before the deadline of the call
            receipt = await calling
        assert receipt.status == "error"
    assert not lives(child)


@pytest.mark.req("mcp-client-dead")
async def test_a_server_that_does_not_answer_meets_the_deadline_and_is_ended(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    async with linked() as link:
        executor = McpExecutor(link, await discover(link, CONTRACT, None))
        receipt = await call(executor, "hang", timeout_ms=800, x=str(pids))
        left = [pid for pid in map(int, pids.read_text().split()) if lives(pid)]
        assert (receipt.status, left) == ("timeout", [])
        assert read(await call(executor, "echo", x="back"))["output"] == "back"


@pytest.mark.req("mcp-client-dead")
async def test_a_cancelled_call_ends_the_server_and_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with linked() as link:
        executor = McpExecutor(link, await discover(link, CONTRACT, None))
        calling = asyncio.create_task(call(executor, "hang", timeout_ms=60_000, x=str(pids)))
        await appears(pids)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert not [pid for pid in map(int, pids.read_text().split()) if lives(pid)]


@pytest.mark.req("mcp-client-dead")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ((*STUB, "dies"), "the database is not there"),
        ((*STUB, "mute"), "did not answer within 0.7 s"),
        (("/no/such/program",), "cannot be started"),
    ],
)
async def test_a_server_that_does_not_start_is_named(
    command: tuple[str, ...], message: str
) -> None:
    seconds = 0.7 if "mute" in command else 9
    link = McpLink(McpServer("stub", command=command, start_seconds=seconds))
    with pytest.raises(ConfigError, match=message):
        await discover(link, CONTRACT, None)
    await link.aclose()


@pytest.mark.req("mcp-client-secrets")
async def test_a_server_sees_an_allow_list_and_its_secrets_are_kept_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "leaked")
    async with linked(
        env={"TOKEN": "t-{_secret:tok}"}, secrets={"TOOLCLAD_SECRET_TOK": "abc123"}
    ) as link:
        executor = McpExecutor(link, await discover(link, CONTRACT, None))
        receipt = await call(executor, "env")
    seen = json.loads(read(receipt)["output"])
    assert seen["TOKEN"] == "t-[secret tok]"
    assert "OPENAI_API_KEY" not in seen
    assert "abc123" not in (receipt.evidence or "") + receipt.content


@pytest.mark.req("mcp-client-secrets")
async def test_a_secret_that_is_not_set_is_asked_for() -> None:
    async with linked(env={"TOKEN": "{_secret:tok}"}) as link:
        with pytest.raises(ConfigError, match="needs the secret 'tok'"):
            await discover(link, CONTRACT, None)


@pytest.mark.req("mcp-client-manifest")
async def test_a_manifests_arguments_are_checked_and_renamed() -> None:
    definition = ToolDefinition(name="stub.m", description="d", input_schema={}, backend="mcp")
    tool = McpTool(
        RemoteTool(remote="echo", definition=definition),
        arguments=(Argument(name="text", type="enum", allowed=("a", "b"), required=True),),
        field_map={"text": "x"},
    )
    async with linked() as link:
        executor = McpExecutor(link, [tool])
        good = await call(executor, "m", text="a")
        bad = await call(executor, "m", text="a", evil="b")
    assert read(good)["output"] == "a"
    assert bad.status == "invalid"


def rpc(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
    """A server behind a URL that answers what it must, and floods what it is asked to."""
    message = json.loads(seen.body or b"{}")
    if "id" not in message:
        return answer(202)(handler, seen)
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": "s", "version": "1"}
            result: Any = {"protocolVersion": version, "capabilities": {}, "serverInfo": about}
        case "tools/list":
            result = {"tools": [{"name": "flood", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": "x" * 9_000_000}]}
        case _:
            return answer(404)(handler, seen)
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
    return answer(200, body, {"Content-Type": "application/json"})(handler, seen)


@pytest.mark.req("mcp-client-bounded")
async def test_a_response_of_any_length_is_not_read() -> None:
    with serving(rpc) as server:
        where = McpServer("far", url=server.url, headers={"Authorization": "B {_secret:k}"})
        link = McpLink(where, of_environment({"ARTIFICER_SECRET_K": "abc"}))
        executor = McpExecutor(link, await discover(link, CONTRACT, None))
        call = Call("r", "c", executor.tools[0], {}, "k")
        receipt = await executor.execute(call)
        await link.aclose()
    assert receipt.status == "error"
    assert {seen.headers["Authorization"] for seen in server.seen} == {"B abc"}


@pytest.mark.req("mcp-client-dead")
async def test_a_url_that_accepts_and_never_answers_meets_the_deadline() -> None:
    given_up = threading.Event()

    def hold(*_: object) -> None:
        assert given_up.wait(60)

    with serving(hold) as server:
        link = McpLink(McpServer("far", url=server.url, start_seconds=0.5))
        with pytest.raises(ConfigError, match=r"did not answer within 0\.5 s"):
            await discover(link, CONTRACT, None)
        given_up.set()
        await link.aclose()

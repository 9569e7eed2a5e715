"""``artificer mcp``, spoken to by the SDK's client and by our own."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import select
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cli_kit import finish, until
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult

import preloaded
from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import discover
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.tools import McpContract
from artificer.cli.mcp.wire import MAX_MESSAGE
from artificer.config import Config
from artificer.contracts.schema import compile_schema
from artificer.runs import History
from artificer.world import World

SHOUT = "import sys,json; print(json.dumps({'said': sys.argv[1].upper()}))"
WRITER = "import sys,time\nwhile True: open(sys.argv[1],'a').write('x'); time.sleep(0.02)"

MANIFESTS = {
    "shout": f"""
        args.text = {{ required = true, allow_dash = true }}
        command.exec = ["python3", "-c", {json.dumps(SHOUT)}, "{{text}}"]
        output.format = "json"
        output.schema = {{ type = "object", required = ["said"] }}
    """,
    "read_stdin": """
        command.exec = ["python3", "-c", "import sys; print(repr(sys.stdin.read()))"]
    """,
    "fail": 'command.exec = ["false"]',
    "write": f"""
        args.file = {{ type = "path", required = true }}
        command.exec = ["python3", "-c", {json.dumps(WRITER)}, "{{file}}"]
    """,
    "slow": 'command.exec = ["sleep", "1.3"]',
}


def write_manifests(folder: Path) -> None:
    """A folder of manifests."""
    for name, text in MANIFESTS.items():
        head = f'tool = {{ name = "{name}", version = "1", description = "d" }}\n'
        lines = "\n".join(line.strip() for line in text.splitlines())
        (folder / f"{name}.clad.toml").write_text(head + lines)


def arguments(folder: Path, *more: str) -> list[str]:
    """The command line."""
    home = ["--home", str(folder / "home"), "--project", "p"]
    return ["-m", "artificer", *home, "mcp", "--tools", str(folder), *more]


@asynccontextmanager
async def client(folder: Path, *more: str) -> AsyncIterator[Client]:
    """The SDK's client of a server over stdio."""
    write_manifests(folder)
    env = {"PATH": os.environ["PATH"]}
    server = StdioServerParameters(
        command=sys.executable, args=arguments(folder, *more), env=env, cwd=folder
    )
    with preloaded.started_here():
        async with Client(server, cache=None) as connected:
            yield connected


async def history(folder: Path, result: CallToolResult) -> History:
    """The run that a result names."""
    assert result.meta
    async with World.open(Config(home=folder / "home", project="p")) as world:
        return await world.archive.history(result.meta["artificer/run"])


@pytest.mark.req("mcp-server-tools")
async def test_tools_are_listed_with_schemas_that_their_results_keep(tmp_path: Path) -> None:
    async with client(tmp_path, "--artifacts") as mcp:
        tools = {tool.name: tool for tool in (await mcp.list_tools()).tools}
        assert {"shout", "fail", "create_table"} <= {*tools}
        shout = tools["shout"]
        assert shout.input_schema["additionalProperties"] is False
        result = await mcp.call_tool("shout", {"text": "hi"})
    assert result.structured_content["results"] == {"said": "HI"}
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    assert shout.output_schema
    assert compile_schema(shout.output_schema).problems(result.structured_content) == ()


@pytest.mark.req("mcp-server-tools")
async def test_an_error_has_no_structured_content_and_an_unknown_tool_is_refused(
    tmp_path: Path,
) -> None:
    async with client(tmp_path) as mcp:
        failed = await mcp.call_tool("fail", {})
        invalid = await mcp.call_tool("shout", {"text": 1, "evil": "x"})
        with pytest.raises(MCPError, match="There is no tool 'nope'"):
            await mcp.call_tool("nope", {})
    for result in (failed, invalid):
        assert (result.is_error, result.structured_content) == (True, None)
    assert "/evil" in invalid.content[0].text  # type: ignore[union-attr]


@pytest.mark.req("mcp-server-runs")
async def test_a_call_is_a_run_that_was_judged_recorded_and_replays(tmp_path: Path) -> None:
    (tmp_path / "artificer.toml").write_text(
        'policy = { rules = [{ decision = "deny", tool = "fail", reason = "never" }] }\n'
    )
    async with client(tmp_path) as mcp:
        done = await mcp.call_tool("shout", {"text": "hi"})
        denied = await mcp.call_tool("fail", {})
    assert denied.is_error
    assert "never" in denied.content[0].text  # type: ignore[union-attr]
    run = (await history(tmp_path, done)).run
    assert run.status == "completed"
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        assert (await world.archive.replay(run.id)).identical
        assert len(await world.archive.runs()) == 2


@pytest.mark.req("mcp-server-runs")
async def test_an_artifact_is_kept_with_a_report_that_shows_it(tmp_path: Path) -> None:
    async with client(tmp_path, "--artifacts") as mcp:
        result = await mcp.call_tool("create_file", {"name": "a.txt", "content": "hello"})
    assert not result.is_error
    run = (await history(tmp_path, result)).run
    assert run.deliverable is not None
    assert [artifact.id for artifact in run.state.artifacts] == ["a.txt"]


@pytest.mark.req("mcp-server-runs")
async def test_a_manifest_named_like_an_artifact_tool_makes_no_artifact(tmp_path: Path) -> None:
    write_manifests(tmp_path)
    shout = (tmp_path / "shout.clad.toml").read_text()
    (tmp_path / "create_table.clad.toml").write_text(shout.replace('"shout"', '"create_table"'))
    async with client(tmp_path) as mcp:
        result = await mcp.call_tool("create_table", {"text": "hi"})
    run = (await history(tmp_path, result)).run
    assert (run.status, run.output) == ("completed", "create_table: ok.")


@pytest.mark.req("mcp-server-stdio")
async def test_a_tool_cannot_read_what_the_client_says(tmp_path: Path) -> None:
    async with client(tmp_path) as mcp:
        read = await mcp.call_tool("read_stdin", {})
        after = await mcp.call_tool("shout", {"text": "still here"})
    assert read.structured_content["stdout"] == "''\n"
    assert after.structured_content["results"] == {"said": "STILL HERE"}


@pytest.mark.req("mcp-server-cancel")
async def test_a_cancelled_call_ends_the_program_and_the_run(tmp_path: Path) -> None:
    async with client(tmp_path) as mcp:
        calling = asyncio.create_task(mcp.call_tool("write", {"file": "out"}))
        await _grows(tmp_path / "out")
        calling.cancel()
        await asyncio.wait((calling,))
        await _rests(tmp_path / "out")
        assert (await mcp.call_tool("shout", {"text": "a"})).is_error is False
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        first = await world.get((await world.archive.runs())[0])
    assert first.state.reason == "cancelled"


@pytest.mark.req("cli-interrupt")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_ends_the_server_of_a_client_that_stays(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process, stdin = await _bare_client(tmp_path)
    stdin.write(_message("tools/call", name="write", arguments={"file": "out"}))
    await _grows(tmp_path / "out")
    process.send_signal(number)
    assert (await finish(process)).code == code
    await _rests(tmp_path / "out")
    assert await _reasons(tmp_path) == ["cancelled"]


@pytest.mark.req("cli-interrupt")
async def test_a_signal_ends_the_server_of_a_client_that_does_not_read(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    process, stdin = await _bare_client(tmp_path, stdout=writer)
    for number in range(2, 100):
        stdin.write(_message("tools/list", number=number))
    await until(lambda: not select.select((), (writer,), (), 0)[1])
    process.send_signal(signal.SIGTERM)
    assert (await finish(process)).code == 143
    os.close(reader)
    os.close(writer)


@pytest.mark.req("cli-pipe")
async def test_a_client_that_goes_away_ends_the_server_quietly(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    process, stdin = await _bare_client(tmp_path, stdout=writer)
    os.close(writer)
    stdin.write(_message("tools/call", name="write", arguments={"file": "out"}))
    await _grows(tmp_path / "out")
    os.close(reader)
    stdin.write(_message("tools/list", number=3))
    ended = await finish(process)
    assert (ended.code, ended.err) == (141, "")
    await _rests(tmp_path / "out")
    assert await _reasons(tmp_path) == ["cancelled"]


@pytest.mark.req("mcp-server-cancel")
async def test_a_client_that_wants_to_know_is_told_of_progress(tmp_path: Path) -> None:
    told: list[tuple[float, float | None]] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total))

    async with client(tmp_path) as mcp:
        await mcp.call_tool("slow", {}, progress_callback=on_progress)
    assert len(told) >= 2
    assert told == sorted(told)
    assert {total for _, total in told} == {60.0}


@pytest.mark.req("mcp-server-http", "mcp-server-line")
async def test_it_serves_http_to_this_machine_and_to_no_page_of_another_name(
    tmp_path: Path,
) -> None:
    write_manifests(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await preloaded.start(
        *arguments(tmp_path, "--http", str(port)), stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr
    try:
        assert b"serving" in await process.stderr.readline()
        url = f"http://127.0.0.1:{port}/mcp"
        await _answers(port)
        link = McpLink(McpServer("ours", url=url))
        tools = await discover(link, McpContract(), ["shout"])
        assert tools[0].tool.definition.name == "ours.shout"
        result = await link.call("shout", {"text": "hi"}, 10)
        assert result.structured_content["results"] == {"said": "HI"}
        assert await asyncio.to_thread(_status, url, "evil.example") in (403, 421)
        assert await asyncio.to_thread(_status_of, port, 2 * MAX_MESSAGE, named=True) == 413
        assert await asyncio.to_thread(_status_of, port, 2 * MAX_MESSAGE, named=False) in (0, 413)
        assert await asyncio.to_thread(_status_of, port, MAX_MESSAGE, named=True) == 400  # no JSON
        again = await link.call("shout", {"text": "ho"}, 10)
        assert again.structured_content["results"] == {"said": "HO"}
        await link.aclose()
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.req("mcp-server-port")
async def test_a_port_that_another_program_has_is_named(tmp_path: Path) -> None:
    write_manifests(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await preloaded.start(
            *arguments(tmp_path, "--http", str(port)), stderr=asyncio.subprocess.PIPE
        )
        _, said = await process.communicate()
    error, hint = said.decode().splitlines()
    assert error.startswith(f"error: The MCP server cannot listen on 127.0.0.1, port {port}: ")
    assert (process.returncode, hint) == (3, "hint: Choose another port.")


@pytest.mark.req("mcp-server-line")
async def test_a_message_of_a_client_has_a_longest_length(tmp_path: Path) -> None:
    process, stdin = await _bare_client(tmp_path)
    assert process.stdout is not None and process.stderr is not None
    stdin.write(_message("ping", text="x" * (MAX_MESSAGE - 200)))
    async with asyncio.timeout(20):
        for number in (1, 2):
            assert json.loads(await process.stdout.readline())["id"] == number
        for _ in range(3 * MAX_MESSAGE // 2**20):
            stdin.write(b"x" * 2**20)
        with suppress(ConnectionError):
            await stdin.drain()
        assert await process.wait() == 3
    assert b"wrote a message of more than 8,388,608 bytes" in await process.stderr.read()


async def _bare_client(
    folder: Path, **streams: Any
) -> tuple[asyncio.subprocess.Process, asyncio.StreamWriter]:
    """A server over stdio that was greeted, and what it reads."""
    write_manifests(folder)
    pipe = asyncio.subprocess.PIPE
    options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "cwd": folder, **streams}
    process = await preloaded.start(*arguments(folder), **options)
    assert process.stdin is not None
    client = {"name": "bare", "version": "1"}
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    process.stdin.write(_message("initialize", number=1, **greeting))
    process.stdin.write(_message("notifications/initialized", number=None))
    return process, process.stdin


def _message(method: str, *, number: int | None = 2, **params: Any) -> bytes:
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(body if number is None else {**body, "id": number}).encode() + b"\n"


async def _reasons(folder: Path) -> list[str | None]:
    """Why the runs have ended."""
    async with World.open(Config(home=folder / "home", project="p")) as world:
        return [(await world.get(run)).state.reason for run in await world.archive.runs()]


def _status(url: str, host: str) -> int:
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"Host": host, "Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def _status_of(port: int, size: int, *, named: bool) -> int:
    """Post that many spaces, with their number or piece by piece; 0 without an answer."""
    piece = b" " * 65_536
    pieces = (piece for _ in range(size // len(piece)))
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if named:
        headers["Content-Length"] = str(size)
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(client), contextlib.suppress(OSError, http.client.HTTPException):
        with contextlib.suppress(OSError):  # it may be answered before all was sent
            client.request("POST", "/mcp", pieces, headers, encode_chunked=not named)
        return client.getresponse().status
    return 0


async def _answers(port: int) -> None:
    for _ in range(500):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            await writer.wait_closed()
            return
    raise AssertionError("the server does not answer")


async def _grows(path: Path) -> None:
    for _ in range(2_000):
        if _size(path):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the tool did not begin")


async def _rests(path: Path) -> None:
    """Wait until a file has stopped growing."""
    for _ in range(100):
        before = _size(path)
        await asyncio.sleep(0.3)
        if _size(path) == before:
            return
    raise AssertionError("the tool goes on")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0

"""``artificer mcp`` and the people behind its clients: approvals, log messages, resources."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import (
    CallToolResult,
    ElicitResult,
    InputRequiredResult,
)

import preloaded
from artificer.config import Config
from artificer.core.events import ApprovalAnswered
from artificer.core.record import EventLine
from artificer.world import World

SAY = """
args.text = { required = true }
command.exec = ["echo", "{text}"]
"""
FLOOD = """
command.exec = ["python3", "-c", "print('x' * 40000)"]
"""
ERAS = ("legacy", "2026-07-28")
"""Protocols whose servers ask on their own, and whose servers are asked again."""


def write(folder: Path) -> None:
    """Two tools that a person is asked for, and one that is too loud for one answer."""
    head = 'tool = {{ name = "{}", version = "1", description = "d", human_approval = {} }}\n'
    (folder / "say.clad.toml").write_text(head.format("say", "true") + SAY)
    (folder / "flood.clad.toml").write_text(head.format("flood", "false") + FLOOD)


@asynccontextmanager
async def client(folder: Path, **options: Any) -> AsyncIterator[Client]:
    """The SDK's client of a server over stdio."""
    write(folder)
    home = ["--home", str(folder / "home"), "--project", "p"]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "artificer", *home, "mcp", "--tools", str(folder)],
        env={"PATH": os.environ["PATH"]},
        cwd=folder,
    )
    with preloaded.started_here():
        async with Client(server, cache=None, **options) as connected:
            yield connected


def person(asked: list[str], action: str = "accept", approve: bool = True) -> Callable[..., Any]:
    """Somebody who always gives the same answer."""

    async def answer(context: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        content: dict[str, Any] | None = {"approve": approve} if action == "accept" else None
        return ElicitResult(action=action, content=content)  # type: ignore[arg-type]

    return answer


def text_of(result: CallToolResult) -> str:
    """Return the text that a model reads."""
    return result.content[0].text  # type: ignore[union-attr]


@pytest.mark.req("mcp-server-asks")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_person_is_asked_for_each_call_and_the_answer_is_recorded(
    tmp_path: Path, mode: str
) -> None:
    asked: list[str] = []
    async with client(tmp_path, mode=mode, elicitation_callback=person(asked)) as mcp:
        first = await mcp.call_tool("say", {"text": "one"})
        again = await mcp.call_tool("say", {"text": "one"})
    assert not first.is_error and "one" in text_of(first) and not again.is_error
    assert len(asked) == 2 and '{"text":"one"}' in asked[0] and "say" in asked[0]
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        runs = await world.archive.runs()
        history = await world.archive.history(runs[0])
        assert (await world.archive.replay(runs[0])).identical
    events = [line.event for line in history.lines if isinstance(line, EventLine)]
    (answered,) = (event for event in events if isinstance(event, ApprovalAnswered))
    assert answered.approved and answered.by.startswith("the ")
    assert len(runs) == 2


@pytest.mark.req("mcp-server-asks")
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("action", "approve", "reason"),
    [("decline", True, "declined"), ("cancel", True, "dismissed"), ("accept", False, "declined")],
)
async def test_without_a_yes_nothing_is_performed(
    tmp_path: Path, mode: str, action: str, approve: bool, reason: str
) -> None:
    nobody = person([], action, approve)
    async with client(tmp_path, mode=mode, elicitation_callback=nobody) as mcp:
        denied = await mcp.call_tool("say", {"text": "one"})
    assert denied.is_error and denied.structured_content is None
    assert "not approved" in text_of(denied) and reason in text_of(denied)


@pytest.mark.req("mcp-server-asks")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_cannot_ask_is_told_so(tmp_path: Path, mode: str) -> None:
    async with client(tmp_path, mode=mode) as mcp:
        denied = await mcp.call_tool("say", {"text": "one"})
    assert denied.is_error and "does not support elicitation" in text_of(denied)


@pytest.mark.req("mcp-server-asks")
async def test_an_answer_is_good_for_one_call_and_for_no_other(tmp_path: Path) -> None:
    yes = {"approval": ElicitResult(action="accept", content={"approve": True})}

    async def call(mcp: Client, text: str, **more: Any) -> Any:
        return await mcp.session.call_tool("say", {"text": text}, allow_input_required=True, **more)

    async with client(tmp_path, mode=ERAS[1], elicitation_callback=person([])) as mcp:
        waiting = await call(mcp, "one")
        assert isinstance(waiting, InputRequiredResult)
        state = waiting.request_state
        with pytest.raises(MCPError, match="No such call"):
            await call(mcp, "another", input_responses=yes, request_state=state)
        done = await call(mcp, "one", input_responses=yes, request_state=state)
        assert isinstance(done, CallToolResult) and not done.is_error
        with pytest.raises(MCPError, match="No such call"):
            await call(mcp, "one", input_responses=yes, request_state=state)
        with pytest.raises(MCPError, match="No such call"):
            await call(mcp, "one", input_responses=yes, request_state="invented")
        left = await call(mcp, "never answered")
        assert isinstance(left, InputRequiredResult)
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        last = await world.get((await world.archive.runs())[-1])
    assert last.state.reason == "cancelled"


@pytest.mark.req("mcp-server-log")
@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
@pytest.mark.filterwarnings("ignore:.*ping.*")
async def test_log_messages_tell_of_calls_from_the_level_on_that_the_client_sets(
    tmp_path: Path,
) -> None:
    told: list[tuple[str, str]] = []

    async def listen(params: Any) -> None:
        told.append((params.level, params.data["message"]))

    async with client(tmp_path, mode="legacy", logging_callback=listen) as mcp:
        await mcp.call_tool("flood", {})
        assert told == []
        await mcp.session.set_logging_level("info")
        await mcp.call_tool("flood", {})
        assert told == [("info", "flood: called"), ("info", "flood: ok")]
        await mcp.call_tool("say", {"text": "x"})
        assert told[-1] == ("warning", "say: denied")
        await mcp.session.set_logging_level("debug")
        await mcp.call_tool("flood", {})
        await mcp.send_ping()
    assert ("debug", "record 1: PromptReceived") in told


@pytest.mark.req("mcp-server-resources")
async def test_manifests_and_the_evidence_of_calls_can_be_read(tmp_path: Path) -> None:
    async with client(tmp_path) as mcp:
        result = await mcp.call_tool("flood", {})
        listed = {r.uri: r for r in (await mcp.list_resources()).resources}
        assert result.meta
        address = result.meta["artificer/evidence"]
        assert {"artificer://manifest/say", "artificer://manifest/flood", address} == {*listed}
        (manifest,) = (await mcp.read_resource("artificer://manifest/say")).contents
        assert manifest.text == (tmp_path / "say.clad.toml").read_text()  # type: ignore[union-attr]
        (evidence,) = (await mcp.read_resource(address)).contents
        (envelope,) = json.loads(evidence.text)  # type: ignore[union-attr]
        assert envelope["command"][0] == "python3"
        digest = envelope["output_blobs"][0]
        (blob,) = (await mcp.read_resource(f"artificer://blob/{digest}")).contents
        assert base64.b64decode(blob.blob) == b"x" * 40_000 + b"\n"  # type: ignore[union-attr]
        templates = (await mcp.list_resource_templates()).resource_templates
        assert len(templates) == 3


@pytest.mark.req("mcp-server-resources")
async def test_of_the_world_nothing_else_can_be_read(tmp_path: Path) -> None:
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        digest = world._resources.storage.blobs.put(b"somebody else's" * 10_000)
    async with client(tmp_path, elicitation_callback=person([])) as mcp:
        await mcp.call_tool("say", {"text": digest})
        for uri in (
            f"artificer://blob/{digest}",
            "artificer://evidence/another-run",
            "artificer://manifest/../../etc/passwd",
            "file:///etc/passwd",
        ):
            with pytest.raises(MCPError, match="There is no resource"):
                await mcp.read_resource(uri)

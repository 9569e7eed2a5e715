"""The embedded model for real: its server process, and the provider that speaks to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from artificer.artifacts.placeholder import find
from artificer.backends.artifact import offered
from artificer.contracts.definition import ModelRequest
from artificer.contracts.schema import compile_schema
from artificer.errors import NotFoundError, OperatorError
from artificer.ports import Memo
from artificer.providers.local import Local
from artificer.providers.local_fetch import model_path
from artificer.providers.local_process import Address, LocalServer
from artificer.values.blocks import Message, ToolResultBlock, user
from artificer.values.model import Delta, ModelFailure, ModelReply, ToolChoice
from artificer.values.strict_json import parse_object

pytestmark = pytest.mark.real_model

MODEL = model_path(Path(os.environ.get("ARTIFICER_HOME", "~/.artificer")).expanduser())
HIKE = "People on our hike: 12 children, 30 adults and 8 seniors."
PIE = ToolChoice(mode="tool", name="create_pie_chart")


async def ask(
    server: LocalServer,
    choice: ToolChoice,
    messages: list[Message],
    *,
    max_tokens: int = 250,
    on_delta: Callable[[Delta], None] = lambda _: None,
) -> ModelReply | ModelFailure:
    request = ModelRequest(
        model="smollm2",
        system="You write short reports.",
        tools=offered.tools(),
        tool_choice=choice,
        max_tokens=max_tokens,
    )
    local = Local(MODEL, server=server)
    return await local.generate(local.prepare(request, messages, Memo()), on_delta)


def fetch(
    address: Address, path: str, *, key: str | None = None, body: object = None
) -> dict[str, Any] | list[Any]:
    headers = {"Authorization": f"Bearer {key or address.key}"}
    data = None if body is None else json.dumps(body).encode()
    request = Request(address.url + path, data, headers)
    with urlopen(request, timeout=10) as answer:
        found: dict[str, Any] | list[Any] = json.load(answer)
        return found


def eventually(holds: Callable[[], bool], seconds: float = 15) -> bool:
    """Whether it holds before long. The time is for a crowded machine, not what is promised."""
    deadline = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


def busy(address: Address) -> bool:
    slots = fetch(address, "/slots")
    assert isinstance(slots, list)
    return any(slot["is_processing"] for slot in slots)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def shown_to_others(pid: int) -> bytes:
    """Return the output of ps for a process, as everybody or the same user sees it."""
    process = Path(f"/proc/{pid}")
    return (process / "cmdline").read_bytes() + (process / "environ").read_bytes()


@pytest.mark.req("local-real-run")
async def test_a_demanded_call_is_valid_and_the_closing_text_cites_its_artifact(
    server: LocalServer,
) -> None:
    called = await ask(server, PIE, [user(HIKE)])
    assert isinstance(called, ModelReply), called
    assert called.stop == "tool_use"
    message = Message(role="assistant", blocks=called.blocks)
    (call,) = message.calls
    assert call.name == "create_pie_chart"
    arguments = parse_object(call.arguments)
    assert isinstance(arguments, dict)
    schema = next(tool for tool in offered.tools() if tool.name == call.name).input_schema
    assert compile_schema(schema).problems(arguments) == ()

    cite = f"Cite it as {{{{artifact:chart:{arguments['id']}}}}}."
    result = ToolResultBlock(tool_use_id=call.id, status="ok", content=cite)
    history = [user(HIKE), message, Message(role="user", blocks=(result,))]
    closed = await ask(server, ToolChoice(mode="none"), history)
    assert isinstance(closed, ModelReply), closed
    text = Message(role="assistant", blocks=closed.blocks).text
    assert [cited.id for cited in find(text)] == [arguments["id"]]


@pytest.mark.req("local-real-run")
async def test_the_same_conversation_gets_the_same_reply_and_one_cut_off_says_so(
    server: LocalServer,
) -> None:
    replies = [await ask(server, PIE, [user(HIKE)], max_tokens=30) for _ in range(2)]
    cut = [r for r in replies if isinstance(r, ModelReply)]
    assert [r.stop for r in cut] == ["max_tokens", "max_tokens"], replies
    assert cut[0].blocks[0].arguments == cut[1].blocks[0].arguments


@pytest.mark.req("local-choice")
async def test_what_only_the_grammar_writes_takes_no_room_in_the_prompt(
    server: LocalServer,
) -> None:
    members = {
        "kind": {"const": "chart"},
        "title": {"enum": ["Lines by folder"]},
        "data": {"const": {"call": "count_files#1", "rows": "/folders"}},
        "id": {"const": "folders"},
    }
    show = {"name": "show", "parameters": {"type": "object", "properties": members}}
    body = {
        "messages": [{"role": "user", "content": HIKE}],
        "tools": [{"type": "function", "function": show}],
    }
    shown = await asyncio.to_thread(fetch, await server.address(), "/apply-template", body=body)
    assert isinstance(shown, dict)
    form = '{"kind": "chart", "title": "Lines by folder", "id": "folders"}'
    assert f'{{"name": "show", "arguments": {form}}}' in shown["prompt"]


@pytest.mark.one_of("the embedded model decides")
@pytest.mark.req("local-real-run")
async def test_the_model_chooses_among_all_artifact_tools(server: LocalServer) -> None:
    reply = await ask(server, ToolChoice(mode="required"), [user(HIKE)], max_tokens=400)
    assert isinstance(reply, ModelReply), reply
    (call,) = Message(role="assistant", blocks=reply.blocks).calls
    assert call.name in {tool.name for tool in offered.tools()}


@pytest.mark.req("local-real-run")
async def test_a_prompt_that_is_too_long_is_a_context_overflow(server: LocalServer) -> None:
    failed = await ask(server, PIE, [user("word " * 9_000)])
    assert isinstance(failed, ModelFailure)
    assert failed.code == "context_overflow"


@pytest.mark.req("local-cancel")
async def test_cancelling_frees_the_slot(server: LocalServer) -> None:
    address, begun = await server.address(), asyncio.Event()
    story = [user("Tell a very long story about a hike.")]
    asking = asyncio.create_task(
        ask(
            server,
            ToolChoice(mode="none"),
            story,
            max_tokens=512,
            on_delta=lambda _: begun.set(),
        )
    )
    await begun.wait()
    assert busy(address)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(eventually, lambda: not busy(address), 4)


@pytest.mark.req("local-process")
async def test_others_on_the_machine_cannot_use_the_server(server: LocalServer) -> None:
    address = await server.address()
    with pytest.raises(OSError, match="401"):
        await asyncio.to_thread(fetch, address, "/slots", key="guess")
    assert server.pid is not None
    assert address.key.encode() not in shown_to_others(server.pid)


@pytest.mark.req("local-process")
async def test_a_killed_server_is_replaced(server: LocalServer) -> None:
    before = await server.address()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    reply = await ask(server, ToolChoice(mode="none"), [user("Hi.")], max_tokens=8)
    assert isinstance(reply, ModelReply), reply
    assert (await server.address()).key != before.key


@pytest.mark.req("local-process")
def test_the_server_does_not_outlive_its_parent(server: LocalServer) -> None:
    program = f"""
import asyncio, pathlib, time
from artificer.providers.local_process import LocalServer
server = LocalServer(pathlib.Path({str(MODEL)!r}))
asyncio.run(server.address())
print(server.pid, flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert alive(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert eventually(lambda: not alive(child))


@pytest.mark.req("local-process")
async def test_stopping_ends_the_process_and_may_be_repeated(server: LocalServer) -> None:
    other = LocalServer(MODEL)
    async with other:
        pid = other.pid
        assert pid is not None
    assert not alive(pid)
    await other.stop()


@pytest.mark.req("local-process")
@pytest.mark.usefixtures("server")
async def test_a_file_that_is_no_model_is_said_with_the_servers_own_words(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"not a model")
    with pytest.raises(OperatorError, match=r"did not start: .+") as caught:
        await LocalServer(model).address()
    assert str(model) in (caught.value.hint or "")


@pytest.mark.req("local-process")
async def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        Local(tmp_path / "none.gguf").require()
    assert "artificer local fetch" in (caught.value.hint or "")

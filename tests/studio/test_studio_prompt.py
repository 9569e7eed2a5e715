"""The form of a prompt, without script: files, models that answer, agents, tools and limits."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_double import Double, chunk
from studio_kit import Studio, http_client, serving

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import load_config
from artificer.studio.context import MAX_FILES
from artificer.studio.protection import MAX_UPLOAD
from artificer.world import World

pytestmark = pytest.mark.req("studio-prompt")

MANIFEST = """
[tool]
name = "{name}"
version = "1.0.0"
description = "Say {name}."

[command]
exec = ["echo", "{name}"]
"""

TIED = {"prompt", "kind", "cost", "turns", "tokens", "other_model", "model"}
"""Fields whose problem is theirs alone. The agents are none here, so that their field is away."""

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ARTIFICER_MODEL")


@tool(effect="pure")
def double_it(number: int) -> int:
    """Double a number."""
    return number * 2


@asynccontextmanager
async def listing(models: Iterable[object]) -> AsyncIterator[tuple[str, list[str]]]:
    """A server of this machine that lists models, and the heads of what it was sent."""
    heads: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        body = json.dumps({"data": [{"id": name} for name in models]}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", heads
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def project(folder: Path, text: str, **agents: Agent) -> AsyncIterator[Studio]:
    """A studio of a project with these settings."""
    (folder / "artificer.toml").write_text(text, "utf-8")
    config = load_config(folder, home=str(folder / "home"))
    async with World.open(config) as world, serving(world, agents=agents) as served:
        yield served


@asynccontextmanager
async def person(studio: Studio) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Origin": studio.url}
    async with http_client(studio.url, headers=headers) as client:
        await client.get("/", params={"key": studio.key})
        yield client


async def form_of(client: httpx.AsyncClient) -> dict[str, str]:
    key = re.search(r'name="form_key" value="([^"]+)"', (await client.get("/")).text)
    assert key
    return {"form_key": key[1]}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


@pytest.mark.usefixtures("bare")
async def test_without_a_model_the_page_says_what_to_do(tmp_path: Path) -> None:
    async with project(tmp_path, "") as studio, person(studio) as client:
        page = (await client.get("/")).text
        assert "Connect a model first" in page
        for word in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "artificer init", "artificer models"):
            assert word in page
        data = {**await form_of(client), "prompt": "Hi."}
        answer = await client.post("/runs", data=data)
        assert answer.status_code == 400 and "No model is configured" in answer.text
        assert "Hi.</textarea>" in answer.text


@pytest.mark.usefixtures("bare")
async def test_models_are_those_that_answer(tmp_path: Path) -> None:
    hostile = ["good", "<b>x</b>", 7, "a\nb", "y" * 300]
    async with listing(hostile) as (url, heads):
        text = f'[providers.here]\nbase_url = "{url}"\n'
        text += '[providers.silent]\nbase_url = "http://127.0.0.1:9/v1"\n'
        async with project(tmp_path, text) as studio, person(studio) as client:
            page = (await client.get("/")).text
            assert '<option value="here/good">' in page
            assert "here/&lt;b&gt;x&lt;/b&gt;" in page and "<b>x" not in page
            assert "yyyy" not in page and "silent/" not in page
            assert "Connect a model first" not in page
            await client.get("/")
            assert len(heads) == 1  # the answer is remembered
            assert heads[0].startswith("GET /v1/models HTTP/1.0")


@pytest.mark.usefixtures("bare")
async def test_a_server_that_never_ends_holds_nothing_up(tmp_path: Path) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the studio gives up
        writer.close()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        text = f'[providers.slow]\nbase_url = "{url}"\n'
        async with project(tmp_path, text) as studio, person(studio) as client:
            assert "Connect a model first" in (await client.get("/")).text
    finally:
        server.close()


async def test_a_run_gets_all_that_was_chosen(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / "tools"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.clad.toml").write_text(MANIFEST.format(name=name), "utf-8")
    double = Double(lambda _: [chunk("stop", content="It is wide.")])
    async with double as url:
        text = f'model = "mine/m"\ntools = ["{tmp_path / "tools"}"]\n'
        text += f'[providers.mine]\nbase_url = "{url}"\n'
        text += '[prices."mine/n"]\ninput = 1.0\noutput = 1.0\n'
        agent = Agent(instructions="Be brief.", tools=[double_it])
        async with project(tmp_path, text, mine=agent) as studio, person(studio) as client:
            page = (await client.get("/")).text
            assert "mine/m, as configured" in page and 'value="two" checked' in page
            data = {
                **await form_of(client),
                "prompt": "What does it say?",
                "other_model": "mine/n",
                "agent": "mine",
                "kind": "chat",
                "cost": "0.25",
                "turns": "3",
                "tokens": "90000",
                "tools": "shown",
                "tool": "one",
            }
            files = [
                ("files", ("notes.txt", b"The sea is wide.", "text/plain")),
                ("files", ("../../etc/more.csv", b"a,b\n1,2\n", "text/csv")),
                ("files", ("", b"", "application/octet-stream")),
            ]
            answer = await client.post("/runs", data=data, files=files)
            assert answer.status_code == 303, answer.text
            run = await studio.world.get(answer.headers["location"].removeprefix("/runs/"))
            spec = run.state.run_spec
            assert (spec.full_name, spec.kind, spec.system) == ("mine/n", "chat", "Be brief.")
            assert [one.name for one in spec.attachments] == ["notes.txt", "more.csv"]
            assert set(spec.tools().names) == {"one", "double_it"}
            limits = spec.limits
            assert (limits.turns, limits.cost_micros, limits.total_tokens) == (3, 250_000, 90_000)


@pytest.mark.req("studio-fields")
async def test_a_mistake_keeps_what_was_written(tmp_path: Path) -> None:
    prompt = "</textarea><script>alert(1)</script> Sea?"
    async with project(tmp_path, "") as studio, person(studio) as client:
        whole = {**await form_of(client), "prompt": prompt, "turns": "7", "kind": "chat"}
        for wrong, said in (
            ({"cost": "abc"}, "not an amount of dollars"),
            ({"cost": "nan"}, "not an amount of dollars"),
            ({"turns": "-1"}, "not a positive whole number"),
            ({"tokens": "²"}, "not a positive whole number"),
            ({"agent": "os:system"}, "There is no agent"),
            ({"kind": "build"}, "neither a report nor a chat"),
            ({"tools": "shown", "tool": "rm"}, "no tool"),
            ({"prompt": "a\0b"}, "NUL"),
            ({"prompt": " "}, "The prompt is empty"),
            ({"other_model": "nobody/none"}, "Unknown provider"),
            ({"other_model": "opanai/gpt-5"}, "Did you mean &#39;openai&#39;"),
            ({"other_model": "gpt-5"}, "Did you mean openai/gpt-5"),
            ({"other_model": "local/\u202e<b>"}, "SmolLM2"),
            ({"model": "gone/m"}, "Unknown provider"),
        ):
            answer = await client.post("/runs", data=whole | wrong)
            assert answer.status_code == 400, wrong
            assert said in answer.text and "<script>alert" not in answer.text, wrong
            assert '<details class="options" open>' in answer.text
            (field,) = wrong.keys() - {"tools", "tool"} or {""}
            tied = re.findall(
                r'name="(\w+)"[^>]* aria-invalid="true" aria-describedby="problem"', answer.text
            )
            assert tied == ([field] if field in TIED else []), wrong
            before = answer.text.partition('id="problem"')[0].rpartition("<label")[2]
            assert not tied or field == "model" or f'name="{field}"' in before, wrong
            assert (
                answer.text.count(" autofocus") == 1 and 'id="problem" role="alert"' in answer.text
            )
            if "prompt" not in wrong:
                assert "&lt;/textarea&gt;" in answer.text
        files = [("files", (f"{n}.txt", b"x", "text/plain")) for n in range(MAX_FILES + 1)]
        answer = await client.post("/runs", data=whole, files=files)
        assert answer.status_code == 400 and "are too many at once" in answer.text
        assert 'aria-describedby="files-notice problem" aria-invalid="true"' in answer.text
        assert "&lt;/textarea&gt;" in answer.text and "Choose the files again" in answer.text
        picture = [("files", ("x.png", b"\x89PNG\r\n\x1a\n", "image/png"))]
        answer = await client.post("/runs", data=whole, files=picture)
        assert answer.status_code == 400 and "x.png" in answer.text
        assert await studio.world.archive.runs() == []


async def test_an_upload_is_bounded_before_it_is_read(tmp_path: Path) -> None:
    async with project(tmp_path, "") as studio, person(studio) as client:
        name = f"artificer_studio_{studio.port}"
        reader, writer = await asyncio.open_connection("127.0.0.1", studio.port)
        lines = [
            "POST /runs HTTP/1.1",
            f"Host: 127.0.0.1:{studio.port}",
            f"Origin: {studio.url}",
            f"Cookie: {name}={client.cookies[name]}",
            f"Content-Length: {MAX_UPLOAD + 1}",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        assert b" 413 " in head.splitlines()[0]


async def test_a_failure_of_an_agents_program_is_said_at_once(tmp_path: Path) -> None:
    def instructions(_: Any) -> str:
        raise ValueError("a secret of the program")

    text = 'model = "mine/m"\n[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\n'
    agent = Agent(instructions=instructions)
    async with project(tmp_path, text, mine=agent) as studio, person(studio) as client:
        data = {**await form_of(client), "prompt": "Hi.", "agent": "mine"}
        answer = await client.post("/runs", data=data)
        assert answer.status_code == 400 and "The program failed: ValueError" in answer.text
        assert "a secret of the program" not in answer.text and "Hi.</textarea>" in answer.text


async def test_a_run_of_an_agent_goes_on_with_it(tmp_path: Path) -> None:
    calls: dict[str, Any] = {"name": "double_it", "arguments": '{"number": 4}'}

    def answer(body: dict[str, Any]) -> list[dict[str, Any]]:
        if body["messages"][-1]["role"] == "tool":
            return [chunk("stop", content="8")]
        made = [{"index": 0, "id": "c", "type": "function", "function": calls}]
        return [chunk("tool_calls", tool_calls=made)]

    async with Double(answer) as url:
        text = f'model = "mine/m"\n[providers.mine]\nbase_url = "{url}"\n'
        text += '[[policy.rules]]\ndecision = "ask"\ntool = "double_it"\n'
        agent = Agent(tools=[double_it])
        async with project(tmp_path, text, mine=agent) as studio, person(studio) as client:
            data = {**await form_of(client), "prompt": "Twice 4?", "agent": "mine", "kind": "chat"}
            run = (await client.post("/runs", data=data)).headers["location"]
            await client.get(f"{run}/events")
            (question,) = (await studio.world.get(run.removeprefix("/runs/"))).questions
            data |= {"subject": question.digest, "decision": "approve"}
            decided = await client.post(f"{run}/decisions/answer", data=data)
            assert decided.status_code == 303
            while "8" not in (await studio.world.get(run.removeprefix("/runs/"))).text:
                await client.get(f"{run}/events")

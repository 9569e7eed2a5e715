"""A world: what the library's door opens on, and what must never leave a process."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from strict_server import Says, StrictServer

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config, ProviderConfig
from artificer.core.policy import Policy, Rule
from artificer.core.price import Price
from artificer.core.signals import Interrupt
from artificer.core.spec import Limits
from artificer.errors import ConfigError, Fenced, NotFoundError, OperatorError
from artificer.ports import Answer, PreparedRequest, Question
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.model import ModelFailure, Usage
from artificer.world import World


@tool(effect="pure")
async def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


@tool(effect="once")
async def refuse(why: str) -> str:
    """Fail."""
    raise ValueError(why)


def at(folder: Path, **settings: Any) -> Config:
    return Config(home=folder, project="p", durability="process", **settings)


@pytest.mark.req("world-door")
class TestWorld:
    async def test_a_run_and_what_comes_of_it(self) -> None:
        async with World.in_memory() as world:
            script = [reply(call("double", number=21)), say("It is **42**.")]
            run = await world.run(
                "Double 21.", Agent(model=ScriptedProvider(script), tools=[double], kind="chat")
            )
            assert (run.status, run.text) == ("completed", "It is **42**.")
            assert run.usage == Usage(input_tokens=20, output_tokens=10)
            assert run.deliverable is not None and run.deliverable.note == ""
            assert "<strong>42</strong>" in run.html and "**42**" in run.markdown
            replayed = await world.archive.replay(run.id)
            assert (replayed.identical, replayed.requests) == (True, 2)
            assert (await world.archive.verify()).sound

    async def test_it_is_still_there_when_opened_again(self, tmp_path: Path) -> None:
        async with World.open(at(tmp_path)) as world:
            first = await world.run(
                "One.", Agent(model=ScriptedProvider([say("1")]), kind="chat"), run_id="aa-1"
            )
            await world.run(
                "Two.", Agent(model=ScriptedProvider([say("2")]), kind="chat"), run_id="ab-2"
            )
        async with World.open(at(tmp_path)) as world:
            assert await world.archive.runs() == ["aa-1", "ab-2"]
            history = await world.archive.history("aa-1")
            assert (history.run.state, len(history.lines)) == (first.state, 7)
            assert await world.archive.find("last") == "ab-2"
            assert await world.archive.find("ab") == "ab-2"
            for word in ("a", "zz"):
                with pytest.raises(NotFoundError):
                    await world.archive.find(word)

    async def test_resuming_needs_the_same_tools(self, tmp_path: Path) -> None:
        failure = ModelFailure(code="unavailable", message="no")
        async with World.open(at(tmp_path)) as world:
            script = ScriptedProvider([reply(call("double", number=1)), failure])
            stalled = await world.run(
                "Go.", Agent(model=script, tools=[double], kind="chat"), run_id="x"
            )
            assert (stalled.status, stalled.deliverable) == ("stalled", None)
            with pytest.raises(OperatorError, match="anything yet"):
                _ = stalled.html
        async with World.open(at(tmp_path)) as world:
            with pytest.raises(ConfigError, match="is not here"):
                await world.resume("x", Agent(model=ScriptedProvider([say("2")]), kind="chat"))
            run = await world.resume(
                "x", Agent(model=ScriptedProvider([say("2")]), tools=[double], kind="chat")
            )
            assert run.status == "completed"
            assert (await world.resume("x")).state == run.state

    async def test_ids_are_taken_once(self) -> None:
        async with World.in_memory() as world:
            await world.run(
                "Go.", Agent(model=ScriptedProvider([say("a")]), kind="chat"), run_id="x"
            )
            with pytest.raises(OperatorError, match="already") as caught:
                await world.run(
                    "Go.", Agent(model=ScriptedProvider([say("b")]), kind="chat"), run_id="x"
                )
            assert not isinstance(caught.value, Fenced)

    async def test_what_is_offered_is_what_is_known(self) -> None:
        async with World.in_memory() as world:
            provider = ScriptedProvider([reply(call("refuse", why="x")), say(".")])
            tools = [double, refuse]
            await world.run("Go.", Agent(model=provider, tools=tools, only=["double"], kind="chat"))
            assert [t["name"] for t in provider.requests[0]["tools"]] == ["double"]
            with pytest.raises(ConfigError, match="triple"):
                await world.run(
                    "Go.",
                    Agent(model=ScriptedProvider([]), tools=tools, only=["triple"], kind="chat"),
                )

    async def test_kinds_bring_their_own_turns_tools_and_prompt(self) -> None:
        async with World.in_memory() as world:
            for kind, turns, tools in (("chat", 15, 0), ("deliver", 24, 16)):
                provider = ScriptedProvider([say("Done.")])
                run = await world.run("Go.", Agent(model=provider, kind=kind))
                assert run.state.run_spec.limits.turns == turns
                provider = ScriptedProvider([say("Done.")])
                limits = Limits(max_tokens=99)
                run = await world.run("Go.", Agent(model=provider, kind=kind, limits=limits))
                assert run.state.run_spec.limits == Limits(
                    max_tokens=99,
                    turns=turns,
                    waiting_counts=False,
                    repeats=6,
                    continuations=8 if kind == "deliver" else 0,
                )
                assert len(provider.requests[0]["tools"]) == tools
                assert provider.requests[0]["system"]

    async def test_policy_and_people(self) -> None:
        class Person:
            async def ask(self, question: Question) -> Answer:
                return Answer(question.tool == "double", by="alice")

        async with World.in_memory() as world:
            calls = reply(call("double", number=1), call("refuse", why="x"))
            run = await world.run(
                "Go.",
                Agent(
                    model=ScriptedProvider([calls, say(".")]),
                    tools=[double, refuse],
                    policy=Policy(rules=(Rule(decision="ask"),)),
                    kind="chat",
                ),
                approver=Person(),
            )
            (results,) = [m for m in run.state.history if m.blocks[0].type == "tool_result"]
            assert [b.status for b in results.blocks] == ["ok", "denied"]

    async def test_a_model_must_be_named(self) -> None:
        async with World.in_memory() as world:
            for model in (None, "gpt", "nobody/x", "/x", "openai/"):
                with pytest.raises(ConfigError):
                    await world.run("Go.", Agent(model=model, kind="chat"))

    async def test_costs_add_up_where_prices_are_known(self) -> None:
        config = Config.from_json({"prices": {"scripted/scripted": {"input": 3, "output": 15}}})
        async with World.in_memory(config) as world:
            script = [reply(call("double", number=1)), say("2")]
            run = await world.run(
                "Go.", Agent(model=ScriptedProvider(script), tools=[double], kind="chat")
            )
            assert run.state.cost_micros == 2 * (10 * 3 + 5 * 15)
            assert (await world.archive.replay(run.id)).identical

    def test_prices_round_up_and_know_the_cache(self) -> None:
        usage = Usage(input_tokens=100, cached_tokens=90, output_tokens=1)
        assert Price(input=3_000_000, output=15_000_000, cached=300_000).micros(usage) == 72
        assert Price(input=1, output=1).micros(usage) == 1


KEY = "sk-test-4f9c2b7e1a"
SECRETS = ("PROMPT-SECRET", "ARGUMENT-SECRET", "RESULT-SECRET", "ANSWER-SECRET", "SYSTEM-SECRET")


class _Server(BaseHTTPRequestHandler):
    """Speaks Chat Completions badly: it repeats the key in everything it says."""

    seen: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        key = self.headers["authorization"]
        type(self).seen.append(key)
        if self.path.startswith("/bad"):
            body = json.dumps({"error": {"message": f"Incorrect API key provided: {key}."}})
            self._send(401, "application/json", body.encode())
            return
        delta = {"role": "assistant", "content": "ANSWER-SECRET"}
        chunks = [
            {"choices": [{"index": 0, "delta": delta}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ]
        frames = [f"data: {json.dumps({'id': 'x', 'model': 'm', **c})}\n\n" for c in chunks]
        self._send(200, "text/event-stream", "".join([*frames, "data: [DONE]\n\n"]).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


def files_with(word: str, folder: Path) -> list[Path]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if word.encode() in file.read_bytes()]


@pytest.fixture
def server() -> Iterator[str]:
    _Server.seen = []
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.mark.req("secrets-stay-out")
class TestSecrets:
    @pytest.mark.parametrize("path", ["/good", "/bad"])
    @pytest.mark.parametrize("origin", ["environment", "constructor", "variable"])
    async def test_keys_reach_the_server_and_nothing_else(
        self,
        tmp_path: Path,
        server: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        path: str,
        origin: str,
    ) -> None:
        caplog.set_level(logging.INFO)
        base = server + path
        config = at(tmp_path)
        if origin == "environment":
            monkeypatch.setenv("OPENAI_API_KEY", KEY)
            monkeypatch.setenv("OPENAI_BASE_URL", base)
            model: Any = "openai-chat/m"
        elif origin == "constructor":
            model = OpenAIChat(base_url=base, api_key=KEY)
        else:
            monkeypatch.setenv("MY_KEY", KEY)
            own = ProviderConfig(base_url=base, api_key_env="MY_KEY")
            config = at(tmp_path, providers={"mine": own})
            model = "mine/m"
        async with World.open(config) as world:
            run = await world.run("Hello.", Agent(model=model, kind="chat"))
        assert run.status == ("stalled" if path == "/bad" else "completed")
        assert _Server.seen == [f"Bearer {KEY}"]
        assert KEY not in caplog.text + repr(model) + repr(run)
        assert files_with(KEY, tmp_path) == []
        assert files_with("Hello.", tmp_path), "the search would find it"

    async def test_logs_hold_sizes_and_digests_but_no_contents(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        @tool(effect="pure")
        async def fetch(what: str) -> str:
            """Fetch."""
            return "RESULT-SECRET"

        @tool(effect="pure")
        async def explode(what: str) -> str:
            """Fail."""
            raise ValueError(what)

        caplog.set_level(logging.DEBUG, logger="artificer")
        calls = reply(
            call("fetch", what="ARGUMENT-SECRET"), call("explode", what="ARGUMENT-SECRET")
        )
        async with World.in_memory() as world:
            run = await world.run(
                "PROMPT-SECRET",
                Agent(
                    instructions="SYSTEM-SECRET",
                    model=ScriptedProvider([calls, say("ANSWER-SECRET")]),
                    tools=[fetch, explode],
                    limits=Limits(turns=3),
                    kind="chat",
                ),
            )
        assert run.status == "completed"
        formatted = logging.Formatter("%(message)s %(exc_text)s %(stack_info)s")
        text = "\n".join(formatted.format(r) + repr(r.__dict__) for r in caplog.records)
        for secret in SECRETS:
            assert secret not in text
        for fact in ("tool=fetch", "provider=scripted", "duration_ms=", "result=sha256:", run.id):
            assert fact in text


class TestWire:
    @pytest.mark.req("replay-anywhere")
    async def test_a_replay_needs_nothing_of_the_environment_in_which_the_run_began(
        self, tmp_path: Path
    ) -> None:
        async with StrictServer(Says("Hello.")) as server:
            there = Config.from_json(
                {
                    "home": tmp_path,
                    "project": "p",
                    "providers": {"double": {"base_url": f"{server.url}/v1"}},
                }
            )
            async with World.open(there) as world:
                run = await world.run("Hi.", Agent(model="double/m", kind="chat"))
        assert run.state.run_spec.wire == "chat/foreign/reasoning"
        elsewhere = Config(home=tmp_path, project="p")
        async with World.open(elsewhere) as world:
            found = await world.archive.replay(run.id)
        assert (found.identical, found.requests, found.requests_unchecked) == (True, 1, 0)

    @pytest.mark.req("cancel-elsewhere")
    async def test_a_run_that_is_cancelled_where_nobody_knows_its_provider_replays(
        self, tmp_path: Path
    ) -> None:
        class Own(ScriptedProvider):
            def prepare(self, *of: Any) -> PreparedRequest:
                prepared = super().prepare(*of)
                return replace(prepared, fields={**prepared.fields, "own": True})

        begun, config = asyncio.Event(), Config(home=tmp_path, project="p")

        @tool(effect="once")
        async def pay() -> str:
            """Pay."""
            begun.set()
            await asyncio.sleep(60)
            return "Paid."

        provider = Own([reply(call("pay"))], name="own")
        async with World.open(config) as world:
            agent = Agent(provider, kind="chat", tools=[pay])
            running = asyncio.create_task(world.run("Pay.", agent, run_id="r"))
            await begun.wait()
            running.cancel()
            await asyncio.wait((running,))
        async with World.open(config) as world:
            ended = await world.cancel("r")
            found = await world.archive.replay("r", model=provider)
            assert [doubt.tool for doubt in ended.doubts] == ["pay"]
            assert found.identical, found.divergence
            assert (found.requests, found.requests_unchecked) == (1, 1)

    @pytest.mark.req("cancel-held")
    @pytest.mark.parametrize("held", [True, False], ids=["interrupted", "at its last turn"])
    async def test_a_run_that_ends_with_its_calls_can_be_cancelled(self, held: bool) -> None:
        """Its call is recorded as ambiguous first, and then the run is over."""
        begun = asyncio.Event()

        @tool(effect="once")
        async def pay() -> str:
            """Pay."""
            begun.set()
            await asyncio.sleep(60)
            return "Paid."

        model = ScriptedProvider([reply(call("pay"))])
        limits = Limits(turns=2 if held else 1)
        agent = Agent(model, kind="chat", tools=[pay], limits=limits)
        async with World.in_memory() as world:
            running = asyncio.create_task(world.run("Pay.", agent, run_id="r"))
            await begun.wait()
            if held:
                await world.send("r", Interrupt())
                while (await world.get("r")).state.hold is None:  # noqa: ASYNC110 - it is read soon
                    await asyncio.sleep(0.01)
            ended = await world.cancel("r", "Enough.")
            assert ended.reason == ("interrupted" if held else "turn_limit")
            assert [doubt.tool for doubt in ended.doubts] == ["pay"]
            running.cancel()
            await asyncio.wait((running,))
            assert (await world.archive.replay("r")).identical

    @pytest.mark.req("cancel-stops")
    async def test_what_a_cancelled_run_performs_in_another_task_ends(self) -> None:
        begun, left = asyncio.Event(), asyncio.Event()

        @tool(effect="once")
        async def pay() -> str:
            """Pay."""
            begun.set()
            try:
                return await asyncio.Future[str]()
            finally:
                left.set()

        agent = Agent(ScriptedProvider([reply(call("pay"))]), kind="chat", tools=[pay])
        async with World.in_memory() as world:
            running = asyncio.create_task(world.run("Pay.", agent, run_id="r"))
            await begun.wait()
            ended = await world.cancel("r", "Enough.", by="ada")
            await asyncio.wait_for(asyncio.wait((running,)), 30)
            assert isinstance(running.exception(), Fenced) and left.is_set()
            assert [doubt.tool for doubt in ended.doubts] == ["pay"]
            assert not (await world.archive.explain("r")).queued
            assert (await world.resume("r", agent)).state == ended.state
            assert (await world.archive.replay("r")).identical

    @pytest.mark.req("replay-anywhere")
    async def test_a_run_does_not_change_its_wire_when_it_is_resumed(self, tmp_path: Path) -> None:
        def config(base_url: str, protocol: str) -> Config:
            provider = {"base_url": base_url, "protocol": protocol}
            facts = {"home": tmp_path, "project": "p", "providers": {"double": provider}}
            return Config.from_json(facts)

        nobody = "http://127.0.0.1:9/v1"
        async with World.open(config(nobody, "openai-chat")) as world:
            run = await world.run("Hi.", Agent(model="double/m", kind="chat"))
        assert run.status == "stalled"
        async with World.open(config(nobody, "openai")) as world:
            with pytest.raises(ConfigError, match=r"chat/foreign.*responses/foreign"):
                await world.resume(run.id)


@pytest.mark.req("svg-files")
async def test_a_drawing_is_saved_rebuilt_and_never_as_the_model_wrote_it(tmp_path: Path) -> None:
    hostile = (
        '<svg xmlns:i="http://www.inkscape.org/namespaces/inkscape"><metadata><script>alert(1)'
        '</script></metadata><i:note onload="alert(2)"/><rect id="r" width="4"/></svg>'
    )
    drawing = {"id": "d", "title": "One", "content": hostile}
    script = [reply(call("create_svg", svg=drawing)), say("# T\n\n{{artifact:svg:d}}")]
    async with World.in_memory() as world:
        run = await world.run("Draw.", Agent(model=ScriptedProvider(script), kind="deliver"))
        saved = run.save(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in saved.artifacts] == [
        "artifacts/svg/d.json",
        "artifacts/svg/d.svg",
    ]
    rebuilt = saved.artifacts[1].read_text("utf-8")
    assert rebuilt.startswith("<svg ") and '<rect id="d-r" width="4"/>' in rebuilt
    assert [path for path in files_of(tmp_path) if "alert" in path.read_text("utf-8")] == []


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]

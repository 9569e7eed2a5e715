"""Rules of servers for the next request of a tool loop, and for a model's output.

The doubles refuse as the services do, by their documents and public threads: DeepSeek demands its
``reasoning_content``, Gemini the thought signature of each call, Groq reads calls by itself.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from chat_double import Answer, Body, Double, chunk

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.core.events import ModelFailed
from artificer.core.spec import Limits
from artificer.providers.chat_wire import ChatDialect, ChatStream
from artificer.values.model import ModelFailure, ModelReply
from artificer.world import World


@tool(effect="pure")
async def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def a_call(index: int = 0, call_id: str = "c1", city: str = "Oslo", **more: Any) -> Body:
    function = {"name": "weather", "arguments": json.dumps({"city": city})}
    piece = {"index": index, "id": call_id, "type": "function", "function": function, **more}
    return chunk(tool_calls=[piece])


def error(message: str, **more: Any) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def in_world(answer: Answer, work: Callable[[World], Awaitable[None]], home: Path, **own: Any):
    async def go() -> Double:
        double = Double(answer)
        async with double as url:
            providers = {"own": {"base_url": url, **own}}
            settings = {"home": home, "project": "p", "durability": "process"}
            config = Config.from_json({**settings, "providers": providers})
            async with World.open(config) as world:
                await work(world)
        return double

    return go()


async def a_tool_loop(world: World) -> None:
    run = await world.run("Weather?", Agent(model="own/m", tools=[weather], kind="chat"))
    assert (run.status, run.text) == ("completed", "Rain.")
    replayed = await world.archive.replay(run.id)
    assert replayed.identical and replayed.requests == 2 and not replayed.requests_unchecked


def deepseek(body: Body) -> Body | list[Body]:
    assistant = [m for m in body["messages"] if m["role"] == "assistant"]
    if not assistant:
        thoughts = [chunk(reasoning_content=piece) for piece in ("I had ", "better look.")]
        return [*thoughts, a_call(), chunk("tool_calls")]
    if assistant[0].get("reasoning_content") != "I had better look.":
        return error("The `reasoning_content` in the thinking mode must be passed back to the API.")
    return [chunk("stop", content="Rain.")]


def gemini(body: Body) -> Body | list[Body]:
    signed = {"google": {"thought_signature": "c2ln"}}
    assistant = [m for m in body["messages"] if m["role"] == "assistant"]
    if not assistant:
        return [a_call(extra_content=signed), a_call(1, "c2", "Rome"), chunk("tool_calls")]
    calls = assistant[0]["tool_calls"]
    if [call.get("extra_content") for call in calls] != [signed, None]:
        return error("Function call is missing a thought_signature in functionCall parts.")
    return [chunk("stop", content="Rain.")]


@pytest.mark.req("provider-tool-loop")
class TestToolLoops:
    @pytest.mark.parametrize("answer", [deepseek, gemini])
    async def test_what_a_server_wants_back_is_handed_back(
        self, answer: Answer, tmp_path: Path
    ) -> None:
        await in_world(answer, a_tool_loop, tmp_path)

    async def test_reasoning_is_kept_back_from_a_server_that_refuses_it(
        self, tmp_path: Path
    ) -> None:
        def strict(body: Body) -> Body | list[Body]:
            assistant = [m for m in body["messages"] if m["role"] == "assistant"]
            if any("reasoning_content" in m for m in assistant):
                return error("property 'reasoning_content' is unsupported")
            return [chunk("stop", content="Rain.")] if assistant else deepseek(body)

        await in_world(strict, a_tool_loop, tmp_path, returns_reasoning=False)

    async def test_a_run_goes_on_as_it_began(self, tmp_path: Path) -> None:
        """Its requests were recorded without reasoning, and stay so when the settings change."""
        down = True

        def flaky(body: Body) -> Body | list[Body]:
            answer = deepseek(body)
            if isinstance(answer, list) and answer[0]["choices"][0]["delta"].get("content"):
                return answer
            return error("model not found", code=404) if down and "tool" in str(body) else answer

        async def work(world: World) -> None:
            nonlocal down
            run = await world.run("Weather?", Agent(model="own/m", tools=[weather], kind="chat"))
            assert run.state.run_spec.wire == "chat/foreign" and run.status == "stalled"
            down = False
            own = world.config.providers["own"].replace(returns_reasoning=True)
            again = world.config.replace(providers={"own": own})
            async with World.open(again) as other:
                resumed = await other.resume(run.id, Agent(tools=[weather], kind="chat"))
                assert resumed.failure == "bad_request", "the double demands what was not chosen"
                assert (await other.archive.replay(run.id)).identical

        await in_world(flaky, work, tmp_path, returns_reasoning=False)


def groq(times: int) -> Answer:
    refused = iter(range(times))

    def answer(body: Body) -> Body | list[Body]:
        if next(refused, None) is None:
            return [chunk("stop", content="Rain.")]
        return error(
            "Failed to call a function. Please adjust your prompt.",
            code="tool_use_failed",
            failed_generation='<function=weather{"town":"Oslo"}</function>',
        )

    return answer


@pytest.mark.req("provider-refused-call")
class TestACallThatTheServerRefuses:
    async def test_is_told_to_the_model_which_tries_again(self, tmp_path: Path) -> None:
        async def work(world: World) -> None:
            run = await world.run("Weather?", Agent(model="own/m", tools=[weather], kind="chat"))
            assert (run.status, run.text) == ("completed", "Rain.")
            assert (await world.archive.replay(run.id)).identical

        double = await in_world(groq(2), work, tmp_path)
        last = double.requests[-1]["messages"][-1]
        assert last["role"] == "user" and "town" in last["content"]
        assert len(double.requests) == 3

    async def test_again_and_again_ends_the_run(self, tmp_path: Path) -> None:
        async def work(world: World) -> None:
            limits = Limits(repairs=2)
            run = await world.run(
                "Weather?", Agent(model="own/m", tools=[weather], limits=limits, kind="chat")
            )
            assert (run.status, run.failure) == ("failed", "invalid_call")
            assert run.deliverable is not None and "refused its tool calls" in run.deliverable.note
            lines = (await world.archive.history(run.id)).lines
            failed = [
                e for line in lines if isinstance(e := getattr(line, "event", 0), ModelFailed)
            ]
            assert [e.code for e in failed] == ["invalid_call"] * 3

        await in_world(groq(9), work, tmp_path)

    def test_in_a_stream_too(self) -> None:
        stream = ChatStream(ChatDialect("own"), ())
        stream.feed({"error": {"message": "Failed to call a function.", "code": "tool_use_failed",
                               "failed_generation": "<function>", "status_code": 400}})  # fmt: skip
        failed = stream.finish()
        assert isinstance(failed, ModelFailure) and failed.code == "invalid_call"
        assert "<function>" in failed.message


@pytest.mark.req("provider-call-ids")
def test_two_calls_with_one_id_are_two_calls() -> None:
    stream = ChatStream(ChatDialect("own"), ())
    for one in (a_call(0, "c", "Oslo"), a_call(1, "c", "Rome"), chunk("tool_calls")):
        stream.feed(one)
    reply = stream.finish()
    assert isinstance(reply, ModelReply)
    calls = [block for block in reply.blocks if block.type == "tool_use"]
    assert [json.loads(call.arguments)["city"] for call in calls] == ["Oslo", "Rome"]
    assert len({call.id for call in calls}) == 2
    assert all(call.name == "weather" for call in calls)

"""The scripted model: texts and replies, from a list or a function."""

from __future__ import annotations

import pytest

from artificer import Agent, World, tool
from artificer.testing import ScriptedProvider, call, reply, say
from artificer.types import JsonObject


@tool(effect="pure")
async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@pytest.mark.req("scripted-text")
async def test_a_script_holds_texts_and_replies() -> None:
    model = ScriptedProvider([reply(call("double", number=21)), "It is 42."])
    async with World.in_memory() as world:
        run = await world.run("Double 21.", Agent(model, tools=[double], kind="chat"))
    assert (run.status, run.text) == ("completed", "It is 42.")


@pytest.mark.req("scripted-text")
@pytest.mark.parametrize("answer", ["HELLO.", say("HELLO.")])
async def test_an_asynchronous_function_answers(answer: object) -> None:
    seen: list[JsonObject] = []

    async def model(body: JsonObject) -> object:
        seen.append(body)
        return answer

    agent = Agent(ScriptedProvider(model), kind="chat")  # type: ignore[arg-type]
    async with World.in_memory() as world:
        assert (await world.run("Hello.", agent)).text == "HELLO."
    assert len(seen) == 1

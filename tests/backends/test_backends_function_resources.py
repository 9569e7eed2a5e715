"""The resources that calls of a function tool share, with the defaults of omitted arguments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.contracts.definition import toolset
from artificer.core.gate import judge
from artificer.core.policy import Occasion, Policy
from artificer.core.rules import RULES
from artificer.errors import ToolDefinitionError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.blocks import ToolUseBlock
from artificer.world import World


@pytest.mark.req("tool-resources")
async def test_a_default_is_the_value_that_a_call_leaves_out() -> None:
    inside, highest = 0, 0

    @tool(effect="once", resources=["file:{path}"])
    async def append(text: str, path: str = "log.txt") -> str:
        """Append a text."""
        nonlocal inside, highest
        inside += 1
        highest = max(highest, inside)
        for _ in range(100):
            await asyncio.sleep(0)
        inside -= 1
        return "ok"

    calls = reply(call("append", text="a", path="log.txt"), call("append", text="b"))
    agent = Agent(ScriptedProvider([calls, say("Done.")]), tools=[append], kind="chat")
    async with World.in_memory() as world:
        await world.run("Try it.", agent)
    assert highest == 1
    defined = append.definition
    assert defined.resources_of({"text": "b"}) == ("file:log.txt",)
    assert defined.resources_of({"text": "b", "path": "b.txt"}) == ("file:b.txt",)


@pytest.mark.req("tool-resources")
@pytest.mark.parametrize(
    ("rules", "resources"), [(3, ("rows 1 to  of ",)), (RULES, ("rows 1 to 9 of null",))]
)
def test_a_run_of_older_rules_keeps_their_resources(rules: int, resources: tuple[str, ...]) -> None:
    @tool(resources=["rows {first} to {last} of {sheet}"])
    def fill(first: int, last: int = 9, sheet: str | None = None) -> str:
        """Fill rows."""
        return ""

    (verdict,) = judge(
        (ToolUseBlock(id="c", name="fill", arguments='{"first": 1}'),),
        toolset=toolset((fill.definition,)),
        policy=Policy(),
        made=(),
        limit=1,
        stop="tool_use",
        occasion=Occasion(rules=rules),
    )
    assert verdict.resources == resources


@pytest.mark.req("function-definition-errors")
@pytest.mark.parametrize(
    ("resources", "said", "hint"),
    [
        ("db", "no list of texts: 'db'", "resources=['db']"),
        (5, "no list of texts: 5", "resources=['db']"),
        (["db", 5], "no list of texts", "resources=['db']"),
        (["file:{pth}"], "{pth}, which is not an argument", "text, path"),
        (["db", "file:{}"], "{}, which is not an argument", "text, path"),
    ],
)
def test_resources_that_keep_no_calls_apart_are_refused(
    resources: Any, said: str, hint: str
) -> None:
    def append(text: str, path: str = "log.txt") -> str:
        """Append a text."""
        return text

    with pytest.raises(ToolDefinitionError) as raised:
        tool(resources=resources)(append)
    assert said in str(raised.value)
    assert hint in (raised.value.hint or "")

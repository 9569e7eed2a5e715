"""The defaults and aliases that a Field gives to an argument of a function tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, Field

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.backends.function.executor import FunctionExecutor
from artificer.errors import ToolDefinitionError
from artificer.ports import Call
from artificer.providers.scripted import ScriptedProvider, say
from artificer.world import World


def pick(
    size: Annotated[int, Field(default=3)],
    tags: Annotated[list[str], Field(default_factory=lambda: ["new"])],
    kind: Annotated[str, Field(alias="class", default="plain")],
    count: Annotated[int, Field(default=4)] = 5,
) -> str:
    """Pick one.

    Args:
        kind: Its kind.
    """
    tags.append("picked")
    return f"{size} {tags} {kind} {count}"


async def performed(**arguments: Any) -> str:
    made = tool(effect="pure")(pick)
    call = Call("run-1", "call-1", made.definition, arguments, "key-1")
    return (await FunctionExecutor([made]).execute(call)).content


@pytest.mark.req("function-fields")
class TestAField:
    async def test_gives_an_argument_its_default(self) -> None:
        assert await performed() == "3 ['new', 'picked'] plain 5"
        assert await performed() == "3 ['new', 'picked'] plain 5", "a new list for each call"
        assert await performed(size=1, tags=[], count=2) == "1 ['picked'] plain 2"

    async def test_gives_an_argument_the_name_that_the_model_reads(self) -> None:
        schema = tool(effect="pure")(pick).definition.input_schema
        assert schema["properties"] == {
            "size": {"default": 3, "type": "integer"},
            "tags": {"items": {"type": "string"}, "type": "array"},
            "class": {"default": "plain", "description": "Its kind.", "type": "string"},
            "count": {"default": 5, "type": "integer"},
        }
        assert await performed(**{"class": "rare"}) == "3 ['new', 'picked'] rare 5"

    @pytest.mark.parametrize("passed", [{}, {"size": 1, "class": "rare"}])
    async def test_means_the_same_as_for_an_output_function(self, passed: dict[str, Any]) -> None:
        agent = Agent(ScriptedProvider([say(json.dumps(passed))]), output=pick, kind="chat")
        async with World.in_memory() as world:
            run = await world.run("Pick.", agent)
        assert run.output == await performed(**passed)


def choices(a: Annotated[int, Field(validation_alias=AliasChoices("b", "c"))]) -> None:
    """Doc."""


def clash(a: Annotated[int, Field(alias="b")], b: int) -> None:
    """Doc."""


def both(a: Annotated[int, Field(default_factory=int)] = 1) -> None:
    """Doc."""


def dependent(a: int, b: Annotated[int, Field(default_factory=lambda data: data["a"])]) -> None:
    """Doc."""


@pytest.mark.req("function-definition-errors")
@pytest.mark.parametrize(
    ("function", "said", "hint"),
    [
        (choices, "as the alias of 'a'", "Field(alias="),
        (clash, "two arguments called 'b'", "another alias"),
        (both, "two defaults of 'a'", "Leave out the default_factory"),
        (dependent, "takes the other arguments", "without parameters"),
    ],
)
def test_a_field_that_cannot_be_kept_is_refused(
    function: Callable[..., None], said: str, hint: str
) -> None:
    with pytest.raises(ToolDefinitionError) as raised:
        tool(function)
    assert said in str(raised.value)
    assert hint in (raised.value.hint or "")

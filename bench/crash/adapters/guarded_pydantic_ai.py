"""Pydantic AI with Artificer's guarded tools, and no store of its own."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any

from outside import Outside
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from adapters import guarded as guard
from artificer.adapters.pydantic_ai import guarded_toolset

NAME = "Pydantic AI, guarded"
WARM = True
CHILDREN = False
PROBES = True
NOT = {"stale owner": "a guard takes no key over from a living process"}


def version() -> str:
    return version_of("pydantic-ai-slim")


def told(messages: list[ModelMessage]) -> list[tuple[str, str]]:
    parts: list[Any] = [part for message in messages for part in message.parts]
    results = {p.tool_call_id: str(p.content) for p in parts if isinstance(p, ToolReturnPart)}
    calls = [p for p in parts if isinstance(p, ToolCallPart) and p.tool_call_id in results]
    return [(p.args_as_dict()["order"], results[p.tool_call_id]) for p in calls]


async def clerk(outside: Outside, guarded: Any) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = outside.model(sum(isinstance(m, ModelResponse) for m in messages), told(messages))
        calls = [ToolCallPart("charge", {"order": o}, tool_call_id=id_) for id_, o in said.calls]
        return ModelResponse(parts=calls or [TextPart(said.text)])

    await Agent(FunctionModel(model), toolsets=[guarded_toolset(guarded)]).run("Go.")


async def drive(outside: Outside) -> None:
    await guard.drive(outside, clerk)

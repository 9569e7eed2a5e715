"""Guarded tools for the OpenAI Agents SDK: ``pip install 'artificer[openai-agents]'``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from artificer.errors import MissingExtraError
from artificer.guard.guarded import Guarded

if TYPE_CHECKING:
    from agents import FunctionTool
    from agents.tool_context import ToolContext


def guarded_tools(guarded: Guarded) -> list[FunctionTool]:
    """Return the guarded tools as function tools of the OpenAI Agents SDK.

    The model reads a refusal, a failure or an ambiguous call as the tool's result. A call that
    waits for a person raises WaitingCallError out of the agent's run.

    >>> agent = Agent(name="clerk", tools=guarded_tools(guarded))

    Raises:
        MissingExtraError: the SDK is not installed.
    """
    try:
        from agents import FunctionTool
    except ImportError as error:
        raise MissingExtraError("openai-agents", needed_for="Tools for OpenAI Agents") from error

    def made(name: str, description: str, schema: dict[str, Any]) -> FunctionTool:
        async def call(context: ToolContext[Any], written: str) -> str:
            result = await guarded.answer(name, written or "{}", call_id=context.tool_call_id)
            return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

        return FunctionTool(name, description, schema, call, strict_json_schema=False)

    return [made(tool.name, tool.description, tool.input_schema) for tool in guarded.tools]

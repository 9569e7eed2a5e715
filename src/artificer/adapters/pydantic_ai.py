"""Guarded tools for Pydantic AI: ``pip install 'artificer[pydantic-ai]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from artificer.errors import MissingExtraError
from artificer.guard.guarded import Guarded

if TYPE_CHECKING:
    from pydantic_ai.toolsets import FunctionToolset


def guarded_toolset(guarded: Guarded) -> FunctionToolset[Any]:
    """Return the guarded tools as a toolset of Pydantic AI.

    The model reads a refusal, a failure or an ambiguous call as the tool's result. A call that
    waits for a person raises WaitingCallError out of the agent's run.

    >>> agent = Agent("openai:gpt-5", toolsets=[guarded_toolset(guarded)])

    Raises:
        MissingExtraError: Pydantic AI is not installed.
    """
    try:
        from pydantic_ai import RunContext, Tool
        from pydantic_ai.toolsets import FunctionToolset
    except ImportError as error:
        raise MissingExtraError("pydantic-ai", needed_for="A toolset for Pydantic AI") from error

    def made(name: str, description: str, schema: dict[str, Any]) -> Tool[Any]:
        async def call(context: RunContext[Any], /, **arguments: Any) -> Any:
            return await guarded.answer(name, arguments, call_id=context.tool_call_id)

        return Tool.from_schema(call, name, description, schema, takes_ctx=True)

    return FunctionToolset(
        [made(tool.name, tool.description, tool.input_schema) for tool in guarded.tools]
    )

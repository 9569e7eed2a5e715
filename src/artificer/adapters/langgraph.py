"""Guarded tools for LangGraph and LangChain: ``pip install 'artificer[langgraph]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from artificer.errors import MissingExtraError
from artificer.guard.guarded import Guarded

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


def guarded_tools(guarded: Guarded) -> list[BaseTool]:
    """Return the guarded tools as tools of LangChain, for a ``ToolNode`` or an agent.

    The model reads a refusal, a failure or an ambiguous call as the tool's result. A call that
    waits for a person raises WaitingCallError out of the graph. The tools are asynchronous only:
    use ``ainvoke``.

    >>> graph.add_node("tools", ToolNode(guarded_tools(guarded)))

    Raises:
        MissingExtraError: langchain-core is not installed.
    """
    try:
        from langchain_core.tools import StructuredTool
    except ImportError as error:
        raise MissingExtraError("langgraph", needed_for="Tools for LangGraph") from error

    def made(name: str, description: str, schema: dict[str, Any]) -> BaseTool:
        async def call(**arguments: Any) -> Any:
            return await guarded.answer(name, arguments)

        return StructuredTool(
            name=name, description=description, args_schema=schema, coroutine=call
        )

    return [made(tool.name, tool.description, tool.input_schema) for tool in guarded.tools]

"""LangGraph with Artificer's guarded tools, and no checkpointer."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from outside import Outside

from adapters import guarded as guard
from artificer.adapters.langgraph import guarded_tools

NAME = "LangGraph, guarded"
WARM = True
CHILDREN = False
PROBES = True
NOT = {"stale owner": "a guard takes no key over from a living process"}


def version() -> str:
    return version_of("langgraph")


def told(messages: list[AnyMessage]) -> list[tuple[str, str]]:
    results = {m.tool_call_id: str(m.content) for m in messages if isinstance(m, ToolMessage)}
    calls = [c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    return [(c["args"]["order"], results[c["id"]]) for c in calls if c["id"] in results]


async def clerk(outside: Outside, guarded: Any) -> None:
    def model(state: MessagesState) -> Any:
        messages = state["messages"]
        said = outside.model(sum(isinstance(m, AIMessage) for m in messages), told(messages))
        calls = [{"name": "charge", "args": {"order": o}, "id": id_} for id_, o in said.calls]
        return {"messages": [AIMessage(said.text, tool_calls=calls)]}

    def more(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(guarded_tools(guarded)))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", more)
    graph.add_edge("tools", "model")
    await graph.compile().ainvoke({"messages": [("user", "Go.")]})


async def drive(outside: Outside) -> None:
    await guard.drive(outside, clerk)

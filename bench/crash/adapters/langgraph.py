"""LangGraph: the same thread id, ``ainvoke(None)`` to resume; approval by ``interrupt()``.

A SQLite saver with durability ``sync``, the safest of its modes: it writes before it goes on.
"""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from outside import NothingToResumeError, Outside, WaitingError

NAME = "LangGraph"
WARM = True
CHILDREN = False
PROBES = False
NOT: dict[str, str] = {}


def version() -> str:
    return version_of("langgraph")


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def told(messages: list[AnyMessage]) -> list[tuple[str, str]]:
    results = {m.tool_call_id: str(m.content) for m in messages if isinstance(m, ToolMessage)}
    calls = [c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    return [(c["args"]["order"], results[c["id"]]) for c in calls if c["id"] in results]


def build(outside: Outside) -> Any:
    def model(state: State) -> State:
        messages = state["messages"]
        said = outside.model(sum(isinstance(m, AIMessage) for m in messages), told(messages))
        calls = [{"name": "charge", "args": {"order": o}, "id": id_} for id_, o in said.calls]
        return {"messages": [AIMessage(said.text, tool_calls=calls)]}

    @tool
    async def charge(order: str) -> str:
        """Charge for an order."""
        if outside.approval and interrupt({"order": order}) != "yes":
            return f"not charged {order}"
        return await outside.charge(order)

    def more(state: State) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([charge]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", more)
    graph.add_edge("tools", "model")
    return graph


async def drive(outside: Outside) -> None:
    config: Any = {"configurable": {"thread_id": "run"}}
    async with AsyncSqliteSaver.from_conn_string(str(outside.state / "graph.db")) as saver:
        app = build(outside).compile(checkpointer=saver)
        given: Any = {"messages": [("user", "Go.")]}
        if outside.resumed:
            snapshot = await app.aget_state(config)
            if not snapshot.created_at:
                raise NothingToResumeError
            given = Command(resume="yes") if outside.plan.approve and snapshot.interrupts else None
        result = await app.ainvoke(given, config, durability="sync")
        if "__interrupt__" in result:
            raise WaitingError

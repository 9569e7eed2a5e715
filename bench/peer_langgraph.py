"""The peer: LangGraph with its SQLite saver, which writes before it goes on (``sync``)."""

import tempfile
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

from measure import Spent


def turn(turns: int) -> Spent:
    """One of so many turns."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    asked = 0

    def model(state: State) -> State:
        nonlocal asked
        asked += 1
        if asked > turns:
            return {"messages": [AIMessage("Done.")]}
        request = {"name": "add", "args": {"a": asked, "b": 1}, "id": f"c{asked}"}
        return {"messages": [AIMessage("", tool_calls=[request])]}

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def more(state: State) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([add]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", more)
    graph.add_edge("tools", "model")
    with (
        tempfile.TemporaryDirectory() as folder,
        SqliteSaver.from_conn_string(str(Path(folder) / "graph.db")) as saver,
    ):
        app = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": 3 * turns + 10}
        start = Spent.now()
        result = app.invoke({"messages": [("user", "Count.")]}, config, durability="sync")
        spent = Spent.now().since(start)
    assert result["messages"][-1].content == "Done."
    return spent.each(turns)

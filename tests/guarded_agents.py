"""Agents of another library with guarded tools.

    python guarded_agents.py LIBRARY

For each line, a JSON array of HOME, LEDGER, KILL and OUTPUT, it forks a process and answers with
its exit code. That is an agent: it charges A, then B and C in one reply, then ends. Every charge
adds a line to LEDGER. With KILL the process kills itself inside of that charge, after its effect.
It writes what the model has read to OUTPUT. The library is imported once, before all of them.
"""

import asyncio
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from artificer import Config, World, tool
from artificer.guard.guarded import Guarded

TURNS = (("A",), ("B", "C"), ())


def charging(ledger: Path, kill: str) -> Any:
    @tool(effect="once")
    async def charge(order: str) -> str:
        """Charge for an order."""
        with ledger.open("a", encoding="utf-8") as lines:
            lines.write(f"{order}\n")
        if order == kill:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"charged {order}"

    return charge


async def pydantic_ai(guarded: Guarded) -> Sequence[str]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from artificer.adapters.pydantic_ai import guarded_toolset

    def model(messages: list[Any], info: Any) -> ModelResponse:
        turn = TURNS[sum(isinstance(message, ModelResponse) for message in messages)]
        calls = [ToolCallPart("charge", {"order": order}) for order in turn]
        return ModelResponse(parts=calls or [TextPart("Done.")])

    agent = Agent(FunctionModel(model), toolsets=[guarded_toolset(guarded)])
    result = await agent.run("Charge.")
    parts = [part for message in result.all_messages() for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


async def langgraph(guarded: Guarded) -> Sequence[str]:
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from artificer.adapters.langgraph import guarded_tools

    def model(state: MessagesState) -> Any:
        turn = TURNS[sum(isinstance(message, AIMessage) for message in state["messages"])]
        calls = [{"name": "charge", "args": {"order": o}, "id": f"id-{o}"} for o in turn]
        return {"messages": [AIMessage("" if calls else "Done.", tool_calls=calls)]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(guarded_tools(guarded)))
    graph.add_edge(START, "model")
    graph.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else END
    )
    graph.add_edge("tools", "model")
    result = await graph.compile().ainvoke({"messages": [("user", "Charge.")]})
    return [str(m.content) for m in result["messages"] if isinstance(m, ToolMessage)]


async def openai_agents(guarded: Guarded) -> Sequence[str]:
    from agents import Agent, ModelResponse, RunConfig, Runner, Usage
    from agents.models.interface import Model
    from agents.testing import assistant_message, function_call

    from artificer.adapters.openai_agents import guarded_tools

    class Scripted(Model):
        turn = 0

        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            orders = TURNS[self.turn]
            self.turn += 1
            calls = [
                function_call("charge", {"order": o}, call_id=f"id-{self.turn}-{o}") for o in orders
            ]
            output = calls or [assistant_message("Done.")]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="clerk", model=Scripted(), tools=guarded_tools(guarded))
    result = await Runner.run(agent, "Charge.", run_config=RunConfig(tracing_disabled=True))
    items = [item.raw_item for item in result.new_items]
    return [str(i["output"]) for i in items if isinstance(i, dict) and "output" in i]


LIBRARIES = {f.__name__: f for f in (pydantic_ai, langgraph, openai_agents)}


IMPORTS = {
    "pydantic_ai": ("pydantic_ai.models.function",),
    "langgraph": ("langgraph.graph", "langgraph.prebuilt"),
    "openai_agents": ("agents.testing",),
}
"""The slow imports of each."""


async def agent(library: str, home: str, ledger: str, kill: str) -> str:
    async with (
        World.open(Config(home=Path(home), project="p")) as world,
        world.guard([charging(Path(ledger), kill)], key="order-42") as guarded,
    ):
        return json.dumps(await LIBRARIES[library](guarded))


def child(library: str, home: str, ledger: str, kill: str, output: str) -> int:
    """The life of a process: its exit code."""
    try:
        Path(output).write_text(asyncio.run(agent(library, home, ledger, kill)), encoding="utf-8")
    except Exception:  # noqa: BLE001 - the exit code says so
        traceback.print_exc()
        return 1
    return 0


def main(library: str) -> None:
    for name in (*IMPORTS[library], f"artificer.adapters.{library}"):
        importlib.import_module(name)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os._exit(child(library, *json.loads(line)))
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

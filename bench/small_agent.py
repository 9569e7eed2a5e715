"""The agent whose runs are counted: two replies of a scripted model, and one call between them."""

from __future__ import annotations

from artificer import Agent
from artificer.testing import ScriptedProvider, call, reply
from artificer.values.base import JsonObject
from artificer.values.model import ModelReply
from worlds import add

NAME = "small_agent:agent"


def answer(body: JsonObject) -> ModelReply | str:
    """Call the tool; then end the run."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return reply(call("add", a=1, b=2)) if len(messages) == 1 else "It is 3."


agent = Agent(ScriptedProvider(answer), kind="chat", tools=[add])

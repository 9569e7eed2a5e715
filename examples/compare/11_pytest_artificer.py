"""A test of an agent's tool, without a model."""

from dataclasses import replace

from artificer import Agent, World, tool
from artificer.testing import ScriptedProvider, call, reply


@tool(effect="pure")
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


agent = Agent("openai-chat/gpt-4o", tools=[double], kind="chat")


def test_the_agent_doubles() -> None:
    script = ScriptedProvider([reply(call("double", number=21)), "It is 42."])
    run = replace(agent, model=script).run_sync("Double 21.", world=World.in_memory())
    assert run.messages[2].blocks[0].content == "42"

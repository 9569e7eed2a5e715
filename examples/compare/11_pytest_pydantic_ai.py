"""A test of an agent's tool, without a model."""

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

agent = Agent("openai-chat:gpt-4o")


@agent.tool_plain
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def test_the_agent_doubles() -> None:
    with agent.override(model=TestModel()):
        result = agent.run_sync("Double 21.")
    assert result.output == '{"double":0}'

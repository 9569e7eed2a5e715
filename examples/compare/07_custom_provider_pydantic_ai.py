"""A model of your own: here, one that shouts."""

from pydantic_ai import Agent, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


async def shout(messages, info):
    return ModelResponse(parts=[TextPart(messages[-1].parts[0].content.upper())])


agent = Agent(FunctionModel(shout))
print(agent.run_sync("Hello.").output)

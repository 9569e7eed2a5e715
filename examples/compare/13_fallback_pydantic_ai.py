"""Another model answers when the first one is unavailable."""

from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel

agent = Agent(FallbackModel("openai-chat:gpt-4-turbo", "openai-chat:gpt-4o"))
print(agent.run_sync("Are you there?").output)

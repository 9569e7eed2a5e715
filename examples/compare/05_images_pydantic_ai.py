"""A picture in the prompt."""

from pathlib import Path

from pydantic_ai import Agent, BinaryContent

picture = BinaryContent.from_path(Path(__file__).with_name("square.png"))
agent = Agent("openai-chat:gpt-4o")
print(agent.run_sync(["Which colour is this?", picture]).output)

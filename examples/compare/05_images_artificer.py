"""A picture in the prompt."""

from pathlib import Path

from artificer import Agent, Image

picture = Image.from_path(Path(__file__).with_name("square.png"))
agent = Agent("openai-chat/gpt-4o", kind="chat")
print(agent.run_sync(["Which colour is this?", picture]).text)

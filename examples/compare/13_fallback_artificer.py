"""Another model answers when the first one is unavailable."""

from artificer import Agent

agent = Agent(["openai-chat/gpt-4-turbo", "openai-chat/gpt-4o"], kind="chat")
print(agent.run_sync("Are you there?").text)

"""A conversation of two prompts."""

from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-4o", instructions="Answer in one sentence.")
result = agent.run_sync("My name is Ada.")
print(result.output)
result = agent.run_sync("What is my name?", message_history=result.all_messages())
print(result.output)

"""A conversation of two prompts. Artificer's is durable: it also continues in another process."""

from artificer import Agent

agent = Agent("openai-chat/gpt-4o", instructions="Answer in one sentence.", kind="chat")
run = agent.run_sync("My name is Ada.")
print(run.text)
run = agent.follow_up_sync(run, "What is my name?")
print(run.text)

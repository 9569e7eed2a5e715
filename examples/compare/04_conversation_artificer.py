"""A conversation of two prompts. Ours is durable: it goes on in another process, too."""

from artificer import Agent

agent = Agent("openai-chat/gpt-4o", instructions="Answer in one sentence.", kind="chat")
run = agent.run_sync("My name is Ada.")
print(run.text)
run = agent.follow_up_sync(run, "What is my name?")
print(run.text)

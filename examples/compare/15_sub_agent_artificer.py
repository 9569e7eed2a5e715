"""An agent that another agent calls; their usage is one sum."""

from artificer import Agent

guide = Agent("openai-chat/gpt-4o", instructions="You know Bern.", kind="chat")
ask = guide.as_tool("ask_guide", "Ask a guide who knows Bern.")
agent = Agent("openai-chat/gpt-4o", tools=[ask], kind="chat")
run = agent.run_sync("What should I see in Bern?")
print(run.text, run.usage.output_tokens)

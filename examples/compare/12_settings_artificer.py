"""Settings of the model, limits of the run, and a first request that fails."""

from artificer import Agent, Limits, ModelSettings

settings = ModelSettings(temperature=0.2, seed=7, max_tokens=200)
agent = Agent("openai-chat/gpt-4o", settings=settings, limits=Limits(turns=3), kind="chat")
print(agent.run_sync("Which settings do you see?").text)

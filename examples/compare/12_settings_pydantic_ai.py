"""Settings of the model, limits of the run, and a first request that fails."""

from pydantic_ai import Agent, ModelSettings, UsageLimits

settings = ModelSettings(temperature=0.2, seed=7, max_tokens=200)
agent = Agent("openai-chat:gpt-4o", model_settings=settings)
limits = UsageLimits(request_limit=3)
print(agent.run_sync("Which settings do you see?", usage_limits=limits).output)

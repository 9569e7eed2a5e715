# %% [markdown]
# Cells of a notebook, where an event loop is already running.

# %%
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-4o")

# %%
result = await agent.run("Why is the sky blue?")
print(result.output)

# %% [markdown]
# Cells of a notebook, where an event loop is already running.

# %%
from artificer import Agent

agent = Agent("openai-chat/gpt-4o", kind="chat")

# %%
run = await agent.run("Why is the sky blue?")
print(run.text)

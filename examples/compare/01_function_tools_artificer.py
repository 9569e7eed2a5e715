"""The model calls functions."""

from artificer import Agent, tool


@tool(effect="pure")
def population(city: str) -> int:
    """Return the number of people who live in a city."""
    return {"Bern": 134_000, "Zug": 30_000}[city]


agent = Agent("openai-chat/gpt-4o", tools=[population], kind="chat")
print(agent.run_sync("How many people live in Bern and in Zug together?").text)

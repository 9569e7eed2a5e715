"""The model calls functions."""

from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-4o")


@agent.tool_plain
def population(city: str) -> int:
    """Return the number of people who live in a city."""
    return {"Bern": 134_000, "Zug": 30_000}[city]


print(agent.run_sync("How many people live in Bern and in Zug together?").output)

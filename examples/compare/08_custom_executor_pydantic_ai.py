"""Tools that are not functions: a listing defines them, and one place performs them."""

from functools import partial

from pydantic_ai import Agent, Tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FACTS = {"population": {"Bern": "134000"}, "canton": {"Bern": "BE"}}
LISTING = [{"name": n, "description": f"A city's {n}.", "input_schema": CITY} for n in FACTS]


async def execute(name, city):
    return FACTS[name][city]


tools = [
    Tool.from_schema(partial(execute, t["name"]), t["name"], t["description"], t["input_schema"])
    for t in LISTING
]
agent = Agent("openai-chat:gpt-4o", tools=tools)
print(agent.run_sync("How many people live in Bern, and in which canton is it?").output)

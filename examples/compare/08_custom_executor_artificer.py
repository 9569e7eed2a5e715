"""Tools that are not functions: a listing defines them, and one place performs them."""

from artificer import Agent, Receipt, ToolDefinition

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FACTS = {"population": {"Bern": "134000"}, "canton": {"Bern": "BE"}}
LISTING = [{"name": n, "description": f"A city's {n}.", "input_schema": CITY} for n in FACTS]


class Facts:
    tools = tuple(ToolDefinition(**listed) for listed in LISTING)

    async def execute(self, call):
        return Receipt(status="ok", content=FACTS[call.definition.name][call.arguments["city"]])


agent = Agent("openai-chat/gpt-4o", tools=[Facts()], kind="chat")
print(agent.run_sync("How many people live in Bern, and in which canton is it?").text)

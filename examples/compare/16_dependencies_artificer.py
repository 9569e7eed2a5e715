"""Tools that work on objects of the program, which the model never sees."""

from dataclasses import dataclass, field

from artificer import Agent, RunContext, tool


@dataclass
class Shop:
    owner: str
    orders: list[str] = field(default_factory=list)


@tool
def order(ctx: RunContext[Shop], item: str) -> str:
    """Order an item."""
    ctx.deps.orders.append(item)
    return f"Ordered for {ctx.deps.owner}."


agent = Agent("openai-chat/gpt-4o", tools=[order], kind="chat")
shop = Shop("Ada")
print(agent.run_sync("Order a lamp.", deps=shop).text, shop.orders)

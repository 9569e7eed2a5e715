"""Tools that work on objects of the program, which the model never sees."""

from dataclasses import dataclass, field

from pydantic_ai import Agent, RunContext


@dataclass
class Shop:
    owner: str
    orders: list[str] = field(default_factory=list)


agent = Agent("openai-chat:gpt-4o", deps_type=Shop)


@agent.tool
def order(ctx: RunContext[Shop], item: str) -> str:
    """Order an item."""
    ctx.deps.orders.append(item)
    return f"Ordered for {ctx.deps.owner}."


shop = Shop("Ada")
print(agent.run_sync("Order a lamp.", deps=shop).output, shop.orders)

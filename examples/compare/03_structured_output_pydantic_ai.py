"""The run ends in a value of a type, whose own validator sends a first answer back."""

from pydantic import BaseModel, field_validator
from pydantic_ai import Agent


class Order(BaseModel):
    item: str
    count: int

    @field_validator("count")
    @classmethod
    def at_least_one(cls, count: int) -> int:
        if count < 1:
            raise ValueError("an order has at least one piece")
        return count


agent = Agent("openai-chat:gpt-4o", output_type=Order)
print(repr(agent.run_sync("I want three lamps.").output))

"""Text as it forms and calls as they end, for a user interface."""

import asyncio

from pydantic_ai import (
    Agent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

agent = Agent("openai-chat:gpt-4o")


@agent.tool_plain
def population(city: str) -> int:
    """Return the number of people who live in a city."""
    return {"Bern": 134_000}[city]


async def main() -> None:
    async with agent.run_stream_events("How many people live in Bern?") as events:
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    print(text, end="")
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    print(text, end="")
                case FunctionToolResultEvent(part=part):
                    print(f"[{part.tool_name}: {part.content}]")
    print()


asyncio.run(main())

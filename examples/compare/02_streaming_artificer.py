"""Text as it forms and calls as they end, for a user interface."""

import asyncio

from artificer import Agent, tool
from artificer.events import CallFinished, TextStreamed


@tool(effect="pure")
def population(city: str) -> int:
    """Return the number of people who live in a city."""
    return {"Bern": 134_000}[city]


agent = Agent("openai-chat/gpt-4o", tools=[population], kind="chat")


async def main() -> None:
    async with agent.stream("How many people live in Bern?") as events:
        async for event in events:
            match event:
                case TextStreamed(text=text):
                    print(text, end="")
                case CallFinished(tool=name, content=content):
                    print(f"[{name}: {content}]")
    print()


asyncio.run(main())

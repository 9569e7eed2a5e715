"""The peer: Pydantic AI, its function model, in memory."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from measure import Spent, spent_by


def turn(turns: int) -> Spent:
    """One of so many turns."""
    asked = 0

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal asked
        asked += 1
        if asked > turns:
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart("add", {"a": asked, "b": 1})])

    agent = Agent(FunctionModel(model))

    @agent.tool_plain
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    limits = UsageLimits(request_limit=turns + 2)

    async def go() -> None:
        result = await agent.run("Count.", usage_limits=limits)
        assert result.output == "Done."

    return asyncio.run(spent_by(go())).each(turns)

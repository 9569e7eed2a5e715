"""The peer: Pydantic AI, its function model, in memory."""

import asyncio
import time

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits


def turn(turns: int) -> float:
    """Milliseconds a turn."""
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

    async def go() -> float:
        started = time.perf_counter()
        result = await agent.run("Count.", usage_limits=limits)
        assert result.output == "Done."
        return time.perf_counter() - started

    return asyncio.run(go()) / turns * 1000

"""The instructions of an agent as text: a function that writes them is called once for a run."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from artificer.agent_definition import AgentDefinition
from artificer.errors import AuthorError
from artificer.ports import RunContext
from artificer.wiring.dependencies import dependencies


async def prepared(agent: AgentDefinition, run: str, passed: Any) -> tuple[AgentDefinition, Any]:
    """Return an agent with its instructions as text, and the dependencies of its run."""
    deps = await dependencies(agent, passed)
    return await instructed(agent, run, deps), deps


async def instructed(agent: AgentDefinition, run: str, deps: Any) -> AgentDefinition:
    """Return the agent with its instructions as text, which the run records.

    Raises:
        AuthorError: the function returned something else.
    """
    if agent.instructions is None or isinstance(agent.instructions, str):
        return agent
    text: Any = agent.instructions(RunContext(deps, run))
    if inspect.isawaitable(text):
        text = await text
    if not isinstance(text, str):
        name = getattr(agent.instructions, "__qualname__", repr(agent.instructions))
        raise AuthorError(
            f"The instructions function {name!r} returned {type(text).__name__}, not a text.",
            hint="Return a str.",
        )
    return replace(agent, instructions=text)

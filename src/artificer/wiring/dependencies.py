"""The dependencies of a run: those that are passed to it, or those that its agent makes."""

from __future__ import annotations

import inspect
from typing import Any

from artificer.agent_definition import AgentDefinition
from artificer.backends.function.decorator import must_need_none


async def dependencies(agent: AgentDefinition, passed: Any) -> Any:
    """Return what was passed to a run, or else what the factory of its agent makes.

    An exception of the factory is the caller's: nothing has begun. Raises ToolDefinitionError where
    a tool needs dependencies and there are none, before the agent's instructions are written.
    """
    found = passed
    if passed is None and agent.deps_factory is not None:
        made = agent.deps_factory()
        found = await made if inspect.isawaitable(made) else made
    if found is None:
        must_need_none(agent.tools)
    return found

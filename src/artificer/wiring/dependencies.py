"""The dependencies of a run: those that are passed to it, or those that its agent makes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

from artificer.agent_definition import AgentDefinition, AgentTool, Tool
from artificer.backends.function.context import context_of
from artificer.backends.function.decorator import refuse_missing_deps
from artificer.ports import Call


async def dependencies(agent: AgentDefinition, passed: Any) -> Any:
    """Return what was passed to a run, or else what the factory of its agent makes.

    An exception of the factory is the caller's: nothing has started. Raises ToolDefinitionError if
    a tool needs dependencies and there are none, before the agent's instructions are written: its
    own, or one of an agent that it calls.
    """
    found = passed
    if passed is None and agent.deps_factory is not None:
        made = agent.deps_factory()
        found = await made if inspect.isawaitable(made) else made
    if found is None:
        refuse_missing_deps(_tools_with_deps(agent))
    return found


def _tools_with_deps(agent: AgentDefinition) -> Iterator[Tool]:
    """Yield the tools that get what is passed to an agent's run, also those of its children."""
    for tool in agent.tools:
        if not isinstance(tool, AgentTool):
            yield tool
        elif tool.deps is None and tool.agent.deps_factory is None:
            yield from _tools_with_deps(tool.agent)


async def dependencies_of_child(tool: AgentTool, call: Call, passed: Any) -> Any:
    """Return the dependencies for the run of an agent's call: its own, or those of its caller.

    A function that makes them is called for each continuation too, since nothing is journaled.
    """
    if tool.deps is None:
        return passed
    if not (inspect.isroutine(tool.deps) or isinstance(tool.deps, partial)):
        return tool.deps  # also an object that can be called: only functions make dependencies
    made = tool.deps(context_of(call, passed))
    return await made if inspect.isawaitable(made) else made

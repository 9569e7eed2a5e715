"""The agents of a studio or a worker, by name, and the one that a recorded run belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from artificer.agent_definition import AgentDefinition, AgentTool
from artificer.backends.function.decorator import FunctionTool
from artificer.core.spec import RunSpec
from artificer.errors import ConfigError

Agents = Mapping[str, AgentDefinition[Any]]
"""Agents by the names under which people choose them, as ``module:name``."""

NO_AGENTS: Agents = {}


def agent_of(spec: RunSpec, agents: Agents) -> AgentDefinition[Any] | None:
    """Return the agent that a run was submitted with, or else the one whose functions it has; the
    one with the most of them.

    None for a run that needs no functions of a program. Raises ConfigError where a run names an
    agent that is not here: a name in a record imports nothing.
    """
    name = spec.submission.agent if spec.submission else ""
    if name and name not in agents:
        raise ConfigError(
            f"The run needs the agent {name!r}, which is not here.",
            hint=f"Start the worker with --agent {name}, or name it in artificer.toml: "
            f'[worker] agents = ["{name}"].',
        )
    if name:
        return agents[name]
    recorded = set(spec.tools().names)
    found = [
        (len(own), agent)
        for agent in agents.values()
        if (own := _functions(agent)) <= recorded
        and bool(agent.check) == bool(spec.output_check)
        and (own or agent.has_output)
    ]
    return max(found, key=lambda one: one[0])[1] if found else None


def _functions(agent: AgentDefinition[Any]) -> set[str]:
    """The names of the tools that only the agent's program has."""
    found: set[str] = set()
    for tool in agent.tools:
        if isinstance(tool, FunctionTool | AgentTool):
            found.add(tool.definition.name)
        elif hasattr(tool, "tools"):
            found |= {definition.name for definition in tool.tools}
    return found if agent.only is None else found & set(agent.only)

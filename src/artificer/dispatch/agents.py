"""The agents of a studio or a worker, by name, and the one that a recorded run belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from artificer.agent_definition import AgentDefinition, AgentTool
from artificer.backends.function.decorator import FunctionTool
from artificer.core.call_keys import idempotency_key
from artificer.core.events import PromptReceived
from artificer.core.intents import CallTool
from artificer.core.record import EventLine, Line
from artificer.core.spec import RunSpec
from artificer.dispatch.callers import caller_of
from artificer.errors import ConfigError
from artificer.ports import Call, Storage
from artificer.runtime.family import agent_calls
from artificer.runtime.load import read_chain, read_records
from artificer.wiring.dependencies import dependencies, dependencies_of_child

Agents = Mapping[str, AgentDefinition[Any]]
"""Agents by the names under which people choose them, as ``module:name``."""

NO_AGENTS: Agents = {}


def agent_of(spec: RunSpec, agents: Agents) -> AgentDefinition[Any] | None:
    """Return the agent that a run was submitted with, or else the one whose functions it has; the
    one with the most of them.

    None for a run that needs no functions of a program. Raises ConfigError if a run names an
    agent that is not here: a name in a record imports nothing.
    """
    name = spec.submission.agent if spec.submission else ""
    if name and name not in agents:
        raise ConfigError(
            f"The run needs the agent {name!r}, which this worker does not have.",
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


class AgentOfRun(NamedTuple):
    """An agent, or None for a run that needs none; ``passed`` are the dependencies from a call."""

    agent: AgentDefinition[Any] | None
    passed: Any = None


async def agent_of_run(storage: Storage, run: str, spec: RunSpec, agents: Agents) -> AgentOfRun:
    """Return the agent of a submitted run: a child's is a tool of its caller's agent.

    Dependencies are made again from the topmost caller on, as nothing of them is recorded. Raises
    what `agent_of` does, and where a caller's agent has the tool no more; what a function of the
    agents raises that makes dependencies.
    """
    caller = caller_of(run, spec)
    if not caller:
        return AgentOfRun(agent_of(spec, agents))
    lines = tuple(read_chain(caller, await read_records(storage.journal, caller), storage.blobs))
    agent, passed = await agent_of_run(storage, caller, _spec_of(lines), agents)
    call = agent_calls(caller, lines).get(run)
    tool = _tool(agent, call.tool) if agent is not None and call is not None else None
    if agent is None or call is None or tool is None:
        raise ConfigError(
            f"The agent whose call started the run {run} has no such agent among its tools here.",
            hint="Start the worker with the program that submitted the topmost run.",
        )
    deps = await dependencies(agent, passed)
    return AgentOfRun(
        tool.agent, await dependencies_of_child(tool, _call(caller, call, tool), deps)
    )


def _tool(agent: AgentDefinition[Any], name: str) -> AgentTool | None:
    tools = (tool for tool in agent.tools if isinstance(tool, AgentTool))
    return next((tool for tool in tools if tool.definition.name == name), None)


def _spec_of(lines: Sequence[Line]) -> RunSpec:
    first = lines[0]
    if isinstance(first, EventLine) and isinstance(first.event, PromptReceived):
        return first.event.spec
    raise ConfigError("The run's caller does not start with a prompt.")


def _call(run: str, intent: CallTool, tool: AgentTool) -> Call:
    return Call(
        run=run,
        id=intent.call_id,
        definition=tool.definition,
        arguments=orjson.loads(intent.arguments),
        key=idempotency_key(run, intent),
    )


def _functions(agent: AgentDefinition[Any]) -> set[str]:
    """The names of the tools that only the agent's program has."""
    found: set[str] = set()
    for tool in agent.tools:
        if isinstance(tool, (FunctionTool, AgentTool)):
            found.add(tool.definition.name)
        elif hasattr(tool, "tools"):
            found |= {definition.name for definition in tool.tools}
    return found if agent.only is None else found & set(agent.only)

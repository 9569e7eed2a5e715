"""Starting a run from a form or a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from artificer.agent import Agent
from artificer.agent_definition import AgentDefinition, AgentKind
from artificer.core.spec import Limits
from artificer.dispatch.agents import agent_of
from artificer.errors import ConfigError, NotFoundError
from artificer.money import micros
from artificer.ports import Attachment
from artificer.runs import Run
from artificer.runtime.fork import ForkChanges
from artificer.studio.context import StudioContext
from artificer.values.text import clip
from artificer.world import require_model, tools_of

MAX_NAMED = 200
"""Characters of an unknown name that an error shows."""


@dataclass(frozen=True)
class Beginning:
    """A prompt and what is chosen for its run; what is left empty is as configured.

    ``tools`` are the tools of the project that the run may use; None is all of them. The tools of
    an agent's own program and those that make artifacts are not narrowed. ``cost`` is in dollars.
    """

    prompt: str
    attachments: tuple[Attachment, ...] = ()
    model: str = ""
    agent: str = ""
    kind: AgentKind | None = None
    tools: tuple[str, ...] | None = None
    cost: float | None = None
    turns: int | None = None
    total_tokens: int | None = None


async def begin(context: StudioContext, wanted: Beginning) -> str:
    """Begin a run in this studio, and return its id once it has its first record.

    Raises ConfigError, AuthorError and other errors where it cannot begin.
    """
    if wanted.model:
        require_model(context.world, wanted.model)
    agent = await _narrowed(context, _agent(context, wanted), wanted.tools)
    run, world = context.world.clock.new_run_id(), context.world
    prompt = [wanted.prompt, *wanted.attachments] if wanted.attachments else wanted.prompt
    context.executions.start(run, lambda: world.run(prompt, agent, run_id=run))
    await context.begun(run)
    return run


async def fork(
    context: StudioContext,
    origin: Run,
    changes: ForkChanges,
    model: str | None = None,
    agent: str = "",
) -> str:
    """Begin a run with the facts of another one, and return its id. Raises as `begin` does."""
    if agent:
        found = named_agent(context, agent)
    else:  # its functions; all else is recorded
        own = agent_of(origin.state.run_spec, context.agents) or Agent()
        found = replace(own, instructions=None, policy=None, limits=None, settings=None)
    found = replace(found, model=model or None)
    run, world = context.world.clock.new_run_id(), context.world
    context.executions.start(run, lambda: world.fork(origin.id, found, changes, new_id=run))
    await context.begun(run)
    return run


def named_agent(context: StudioContext, name: str) -> AgentDefinition[Any]:
    """Return an agent of the studio. Raises NotFoundError."""
    found = context.agents.get(name)
    if found is None:
        raise NotFoundError(
            f"There is no agent {name!r} in this studio.",
            hint='Name it in artificer.toml: [studio] agents = ["module:name"].',
        )
    return found


def _agent(context: StudioContext, wanted: Beginning) -> AgentDefinition[Any]:
    """The agent that is named, or a plain one, with what was chosen instead of its own."""
    agent = named_agent(context, wanted.agent) if wanted.agent else Agent()
    named = {
        "turns": wanted.turns,
        "total_tokens": wanted.total_tokens,
        "cost_micros": micros(wanted.cost),
    }
    limits: dict[str, Any] = {name: n for name, n in named.items() if n is not None}
    changed: dict[str, Any] = {"model": wanted.model or None, "kind": wanted.kind}
    if limits:
        changed["limits"] = agent.limits.replace(**limits) if agent.limits else Limits(**limits)
    return replace(agent, **{name: value for name, value in changed.items() if value is not None})


async def require_tools(context: StudioContext, tools: Sequence[str]) -> set[str]:
    """Return the tools of the project. Raises ConfigError if a chosen one is not there."""
    choices = await context.offers.choices()
    known = {tool.name for tool in choices.tools}
    if unknown := [name for name in tools if name not in known]:
        raise ConfigError(
            f"The project has no tool {clip(unknown[0], MAX_NAMED)!r}.",
            hint=choices.tools_problem or f"It has {', '.join(sorted(known)) or 'none'}.",
        )
    return known


async def _narrowed(
    context: StudioContext, agent: AgentDefinition[Any], tools: tuple[str, ...] | None
) -> AgentDefinition[Any]:
    """The agent without the tools of the project that were not chosen."""
    if tools is None:
        return agent
    known = await require_tools(context, tools)
    left_out = known - set(tools)
    if not left_out:
        return agent
    offered = await tools_of(context.world, agent)
    return replace(agent, only=[name for name in offered.names if name not in left_out])

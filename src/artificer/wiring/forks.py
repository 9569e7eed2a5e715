"""From a recorded run to a fork of it: its spec, the facts that it begins with, its provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from artificer.agent_definition import AgentDefinition
from artificer.core.events import Event, RunForked
from artificer.core.spec import RunSpec
from artificer.errors import ConfigError
from artificer.ports import Provider
from artificer.runtime.fork import ForkChanges, ForkPlan, origin_of, plan_fork
from artificer.runtime.load import Loaded, load
from artificer.system import SystemClock
from artificer.wiring.providers import wire_of
from artificer.wiring.resources import WorldResources
from artificer.wiring.settings import check_taken, settings_of
from artificer.wiring.specs import Recorded, limits_for, price_of
from artificer.wiring.toolbox import located


@dataclass(frozen=True)
class Fork:
    """A fork that can begin. ``forked`` is the first event that is its own."""

    recorded: Recorded
    facts: Sequence[Event]
    forked: RunForked


async def new_fork(
    world: WorldResources,
    agent: AgentDefinition[Any],
    run: str,
    new: str,
    changes: ForkChanges | None,
) -> Fork:
    """Plan a fork, and copy the folder that a build works in.

    Raises:
        NotFoundError: no such run or record.
        ConfigError: the agent's model is unknown, or its policy is not that of the run.
        OperatorError: a record cannot be edited.
    """
    storage, changes = world.storage, changes or ForkChanges()
    origin = await load(storage.journal, storage.blobs, run)
    before = origin.state.run_spec
    _require_same(agent, before)
    provider, spec = _fork_spec(world, agent, before, changes.prompt)
    if agent.instructions is not None or changes.prompt is not None:
        changes = replace(changes, from_start=True)
    plan = await _plan(world, run, new, origin, changes, spec)
    forked = RunForked(
        at=SystemClock().now(),
        origin=await origin_of(storage.journal, run, plan, before, spec),
        steer=changes.steer,
    )
    return Fork(Recorded(new, spec, provider), plan.facts, forked)


def _require_same(agent: AgentDefinition[Any], spec: RunSpec) -> None:
    """Raise ConfigError for what a fork cannot change: its calls were judged by it."""
    changed = ""
    if agent.policy is not None and agent.policy != spec.policy:
        changed = "policy"
    if agent.capabilities is not None and located(agent.capabilities) != spec.facilities:
        changed = "capabilities"
    if changed:
        raise ConfigError(
            f"A fork keeps the {changed} of its run, but the agent's differ.",
            hint=f"Fork without {changed}, or start a new run.",
        )


def _fork_spec(
    world: WorldResources, agent: AgentDefinition[Any], before: RunSpec, prompt: str | None
) -> tuple[Provider, RunSpec]:
    """Return the recorded spec with what the agent changes, and the provider."""
    recorded = f"{before.provider}/{before.model}"
    provider, name = world.providers.choose(agent.model or recorded)
    model = f"{provider.name}/{name}"
    limits = agent.limits or before.limits
    if model != recorded and limits.max_tokens == before.limits.max_tokens:
        limits = limits_for(model, limits, world.config)
    settings = before.settings
    if agent.settings is not None:
        settings = settings_of(agent.settings, model, provider, world.config, world.redactor)
    check_taken(settings, model, provider)
    price = before.price if model == recorded else None
    spec = before.replace(
        prompt=before.prompt if prompt is None else prompt,
        system=agent.instructions if isinstance(agent.instructions, str) else before.system,
        limits=limits,
        provider=provider.name,
        model=name,
        wire=wire_of(provider),
        settings=settings,
        price=price or price_of(model, limits, world.config),
    )
    return provider, spec


async def _plan(
    world: WorldResources, run: str, new: str, origin: Loaded, changes: ForkChanges, spec: RunSpec
) -> ForkPlan:
    """Plan a fork. A build, or a run of one, gets a copy of the repository that it works in."""
    if spec.build is None and not spec.belongs_to_build:
        return plan_fork(origin.lines, changes, spec)
    from artificer.wiring.build_forks import copy_build, copy_child, require_possible

    require_possible(spec, changes)
    if spec.build is None and spec.kind == "code":
        changes = replace(changes, at=None, from_start=True)
    plan = plan_fork(origin.lines, changes, spec)
    if spec.build is None:
        await copy_child(world.storage, world.config, run, spec, new)
    else:
        await copy_build(world.config, run, plan, new)
    return plan

"""From a recorded run to a fork of it: its spec, the facts that it begins with, its provider."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from artificer.agent_definition import AgentDefinition
from artificer.core.events import CompactionFailed, Event, ModelFailed, PromptReceived, RunForked
from artificer.core.spec import Fallback, RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.transitions import reduce
from artificer.errors import ConfigError
from artificer.ports import Provider
from artificer.ports.attachment import checked
from artificer.providers.chain import chained, providers_of
from artificer.runtime.fork import ForkChanges, ForkPlan, origin_of, plan_fork
from artificer.runtime.load import Loaded, first_spec_of, load
from artificer.values.arguments import instance
from artificer.values.model import FALLBACK_FAILURES
from artificer.wiring.prompts import attached_blocks
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
        AuthorError: the attachments are too much.
    """
    storage, changes = world.storage, ForkChanges() if changes is None else changes
    instance("changes", changes, ForkChanges, "ForkChanges(at=…, steer='…')")
    origin = await load(storage.journal, storage.blobs, run)
    before = first_spec_of(origin).replace(submission=None)  # this process executes it
    _require_same(agent, before)
    provider, spec = _fork_spec(world, agent, before, changes.prompt)
    models = dict(zip(spec.full_names, providers_of(provider), strict=True))
    attached = list(map(checked, changes.attachments))
    if agent.instructions is not None or changes.prompt is not None:
        changes = replace(changes, from_start=True)
    plan = await _plan(world, run, new, origin, changes, spec)
    if agent.model is not None:
        spec = _with_failed(plan.facts, before, spec)
        plan = replace(plan, facts=tuple(_under(fact, spec) for fact in plan.facts))
    blocks = attached_blocks(attached, models, spec.limits, origin.state.attached)
    for attachment in attached:
        await asyncio.to_thread(storage.blobs.put, attachment.data)
    forked = RunForked(
        at=world.clock.now(),
        origin=await origin_of(storage.journal, run, plan, before, spec),
        steer=changes.steer,
        attachments=blocks,
    )
    return Fork(Recorded(new, spec, provider, is_new=True), plan.facts, forked)


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
    recorded = (before.as_fallback(), *before.fallbacks)
    known = dict(zip(before.full_names, recorded, strict=True))
    chosen = world.providers.choose_all(agent.model or before.full_names)
    models = [
        _model(world, agent, before, provider, name, known.get(f"{provider.name}/{name}"))
        for provider, name in chosen
    ]
    spec = before.replace(
        prompt=before.prompt if prompt is None else prompt,
        system=agent.instructions if isinstance(agent.instructions, str) else before.system,
        limits=agent.limits or before.limits,
        fallbacks=tuple(models),
    )
    return chained([provider for provider, _ in chosen]), spec.fallen_back()


def _model(
    world: WorldResources,
    agent: AgentDefinition[Any],
    before: RunSpec,
    provider: Provider,
    name: str,
    recorded: Fallback | None,
) -> Fallback:
    """Return a model of the fork, as it was recorded if it was, with what the agent changes."""
    full_name, limits = f"{provider.name}/{name}", agent.limits or before.limits
    model = recorded or before.as_fallback().replace(
        price=None, max_tokens=limits_for(full_name, before.limits, world.config).max_tokens
    )
    changed = {
        limit: getattr(limits, limit)
        for limit in ("max_tokens", "context_tokens", "continuations")
        if getattr(limits, limit) != getattr(before.limits, limit)
    }
    if agent.settings is not None:
        changed["settings"] = settings_of(
            agent.settings, full_name, provider, world.config, world.redactor
        )
    check_taken(changed.get("settings", model.settings), full_name, provider)
    return model.replace(
        provider=provider.name,
        model=name,
        wire=wire_of(provider),
        price=model.price or price_of(full_name, limits, world.config),
        **changed,
    )


def _with_failed(facts: Sequence[Event], before: RunSpec, spec: RunSpec) -> RunSpec:
    """Return a spec whose first model is the one that answers after these facts.

    Each recorded failure that led to another model takes one off the list. So the fork's own first
    model is in the list once more for each of them.
    """
    if not before.fallbacks and not spec.fallbacks:
        return spec
    state, failures = RunState(), 0
    for fact in facts:
        state, _ = reduce(state, _under(fact, before))
        match fact:
            case ModelFailed(code=code) | CompactionFailed(code=code):
                ended = state.phase is RunPhase.FINISHING
                failures += code in FALLBACK_FAILURES and not ended
            case _:
                pass
    return spec.replace(fallbacks=(*[spec.as_fallback()] * failures, *spec.fallbacks))


def _under(fact: Event, spec: RunSpec) -> Event:
    return fact.replace(spec=spec) if isinstance(fact, PromptReceived) else fact


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

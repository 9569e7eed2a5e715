"""From an agent to a run that can be executed: model, limits, servers, tools, spec, engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from artificer.agent_definition import AgentDefinition
from artificer.builds.brief import Brief
from artificer.builds.facts import BuildOptions
from artificer.contracts.definition import Toolset
from artificer.core.kinds import RunKind
from artificer.core.spec import Fallback, RunSpec
from artificer.errors import ConfigError
from artificer.ports import Prompt, Provider
from artificer.ports.attachment import split_prompt
from artificer.providers.chain import chained
from artificer.runtime.engine import Engine
from artificer.wiring.children import Assemblers, with_children
from artificer.wiring.conversation import EarlierMessages, history_facts
from artificer.wiring.dependencies import dependencies
from artificer.wiring.engines import Attendance, build_engine
from artificer.wiring.families import Assembly, with_family
from artificer.wiring.outputs import output_reader
from artificer.wiring.policies import require_fitting, tools_of_builds
from artificer.wiring.prompts import attached_blocks
from artificer.wiring.providers import each_model, wire_of
from artificer.wiring.readiness import require, require_secrets
from artificer.wiring.resources import WorldResources
from artificer.wiring.servers import ConfiguredServers, build_servers
from artificer.wiring.settings import choices_of, settings_of
from artificer.wiring.specs import (
    ChosenModel,
    Recorded,
    agent_facts,
    limits_of,
    make_spec,
    with_bindings,
    with_longest,
)
from artificer.wiring.toolbox import ToolBox, build_tools, located, used


@asynccontextmanager
async def assemble(
    world: WorldResources,
    agent: AgentDefinition[Any],
    prompt: Prompt,
    attendance: Attendance,
    history: EarlierMessages | None = None,
) -> AsyncIterator[Assembly]:
    """Assemble a new run of an agent, whose conversation begins with the ``history``.

    Raises:
        ConfigError: the model, a tool or the policy cannot be used.
        AuthorError: the agent's output, an attachment or the history cannot be used.
        MissingExtraError: a library that it needs is not installed.
    """
    facts = agent_facts(agent)
    model = choose_model(world, agent, agent.run_kind)
    text, attachments = split_prompt(prompt)
    attached = attached_blocks(attachments, model.by_name, model.limits)
    config = world.config
    capabilities = located(agent.capabilities or config.capabilities)
    async with build_servers(world) as servers:
        tools = await _tools_of(world, agent, attendance, servers)
        tools.require_offered(choices_of(agent.settings))
        require_fitting(model.policy, tools.toolset)
        if not isinstance(agent.instructions, str):
            facts["system"] = with_bindings(facts["system"], tools.toolset)
        spec = make_spec(
            model,
            config,
            prompt=text,
            attachments=attached,
            toolset=tools.text,
            sources=tools.folders,
            facilities=capabilities,
            **facts,
            **history_facts(history, tools.toolset),
        )
        check = output_reader(agent, spec)
        yield Assembly(
            spec,
            build_engine(
                world, model.providers, tools, attendance, policy=spec.policy, check=check
            ),
            tuple(attachment.data for attachment in attachments),
        )


async def offered_tools(world: WorldResources, agent: AgentDefinition[Any]) -> Toolset:
    """Return the tools that a new run of an agent would have. Raises what `assemble` does.

    Servers of tools are started for it, and ended.
    """
    attendance = Attendance(deps=await dependencies(agent, None))
    async with build_servers(world) as servers:
        return (await _tools_of(world, agent, attendance, servers)).toolset


async def _tools_of(
    world: WorldResources,
    agent: AgentDefinition[Any],
    attendance: Attendance,
    servers: ConfiguredServers,
) -> ToolBox:
    own = with_children(world, agent.tools, attendance, _ASSEMBLERS)
    return build_tools(
        [*world.config.tools, *world.tools, *own, *await servers.offered()],
        kind=agent.run_kind,
        world=world,
        servers=servers,
        capabilities=located(agent.capabilities or world.config.capabilities),
        deps=attendance.deps,
    ).narrowed(agent.only)


@asynccontextmanager
async def assemble_recorded(
    world: WorldResources, agent: AgentDefinition[Any], recorded: Recorded, attendance: Attendance
) -> AsyncIterator[Engine]:
    """Assemble the engine of a recorded run, with the tools that it began with.

    Raises:
        ConfigError: a tool is missing or has changed since, or a secret is missing: a key, or for
            a run that has not begun that of a tool.
        MissingExtraError: an SDK is not installed.
        NotFoundError: the provider's model is not here.
    """
    spec = recorded.spec
    require(recorded.provider)
    extra = [
        *used(world.tools, spec.tools()),
        *with_children(world, agent.tools, attendance, _ASSEMBLERS),
    ]
    if spec.belongs_to_build:
        from artificer.wiring.build_forks import tools_of_child

        extra += await tools_of_child(world, recorded.run, spec)
    servers_used = {
        tool.name.partition(".")[0] for tool in spec.tools().tools if tool.backend == "mcp"
    }
    async with build_servers(world) as servers:
        tools = build_tools(
            [*spec.sources, *extra, *await servers.offered(servers_used)],
            kind=spec.kind,
            world=world,
            servers=servers,
            capabilities=spec.facilities,
            deps=attendance.deps,
        )
        tools.require_same(spec.tools())
        needing = tools.executors if recorded.is_new else {}
        await require_secrets(world.secrets, spec, recorded.provider, needing)
        check = output_reader(agent, spec)
        engine = build_engine(
            world, recorded.provider, tools, attendance, policy=spec.policy, check=check
        )
        if spec.build is None:
            yield await with_family(world, engine, recorded.run, spec)
            return
        from artificer.wiring.builds import building

        async with building(engine, world, recorded, attendance.decider) as engine:
            yield engine


async def new_build(
    world: WorldResources,
    agent: AgentDefinition[Any],
    run: str,
    prompt: str | Brief,
    project: str | Path,
    options: BuildOptions | None = None,
) -> Recorded:
    """Make the folder and the spec of a build.

    Raises:
        NotFoundError: the project is in no git repository, or has no commit.
        ConfigError: no model is named, git is missing, or nothing tests a brief build.
    """
    from artificer.wiring.builds import (
        BuildPlace,
        bounded,
        project_folder,
        requested,
        require_command,
    )

    brief = prompt if isinstance(prompt, Brief) else Brief(prompt)
    require_command(brief.validation)
    options = options or BuildOptions()
    if isinstance(prompt, Brief):
        options = options.replace(size="brief")
    model = choose_model(world, agent, "build")
    require_fitting(model.policy, tools_of_builds())
    folder = project_folder(project)
    options, limits = bounded(options, model.limits)
    model = replace(model, limits=limits)
    require(model.providers)  # before anything is made
    place = await BuildPlace.make(world.config, run, folder)
    spec = make_spec(
        model,
        world.config,
        kind="build",
        prompt=brief.prompt,
        toolset=ToolBox.empty().text,
        build=requested(run, brief.prompt, place, options, brief.validation),
        project=str(folder),
    )
    return Recorded(run, spec, model.providers, is_new=True)


def recorded_provider(
    world: WorldResources, agent: AgentDefinition[Any], spec: RunSpec
) -> Provider:
    """Return the provider of a recorded run: the agent's, if that is one, or the recorded one.

    A run may have fallen back: the agent's last models are those that are left.

    Raises:
        ConfigError: it would send other requests than the run did.
    """
    left: list[RunSpec | Fallback] = [spec, *spec.fallbacks]
    passed = each_model(agent.model)[-len(left) :]
    aligned = [*[None] * (len(left) - len(passed)), *passed]
    return chained([_recorded(world, *pair) for pair in zip(left, aligned, strict=True)])


def _recorded(
    world: WorldResources, model: RunSpec | Fallback, passed: str | Provider | None
) -> Provider:
    if passed is None or isinstance(passed, str):
        provider = world.providers.get(model.provider, recorded=model.wire)
    else:
        provider = world.providers.adopt(passed)
    wire = wire_of(provider)
    if wire != model.wire:
        raise ConfigError(
            f"The run used {model.provider} as {model.wire or 'itself'}, "
            f"but now it is {wire or 'itself'}.",
            hint="Restore the base URL and the settings that the run started with.",
        )
    return provider


def choose_model(world: WorldResources, agent: AgentDefinition[Any], kind: RunKind) -> ChosenModel:
    """Return the agent's model and its fallbacks with the limits of this kind of run.

    Raises ConfigError.
    """
    first, *fallbacks = [
        _chosen(world, agent, kind, provider, name)
        for provider, name in world.providers.choose_all(agent.model)
    ]
    return replace(first, fallbacks=tuple(fallbacks))


def _chosen(
    world: WorldResources, agent: AgentDefinition[Any], kind: RunKind, provider: Provider, name: str
) -> ChosenModel:
    full_name = f"{provider.name}/{name}"
    settings = settings_of(agent.settings, full_name, provider, world.config, world.redactor)
    limits = limits_of(kind, agent.limits, world.config, full_name)
    limits = with_longest(limits, settings, agent.limits)
    return ChosenModel(provider, name, limits, agent.policy or world.config.policy, settings)


_ASSEMBLERS = Assemblers(assemble, assemble_recorded, recorded_provider)

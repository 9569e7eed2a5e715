"""The choices of a person who begins a run: models that answer, agents, tools, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct

from artificer.agent_definition import AgentDefinition, AgentKind
from artificer.config import Config
from artificer.contracts.definition import ToolDefinition
from artificer.errors import ArtificerError
from artificer.studio.remembered import Remembered
from artificer.values.text import clip
from artificer.wiring.local_servers import CheckedProvider, ask_local
from artificer.world import World, tools_of

REMEMBERED_S = 20.0
"""Seconds after which models and tools are looked up again."""

PATIENCE_S = 2.0
"""Seconds that a page waits for the tools of servers."""

MAX_TOOLS = 500
MAX_DESCRIPTION = 300

FIRST = ("anthropic", "openai", "local")
"""The providers that someone who has none is pointed to."""


class ModelGroup(Struct, frozen=True):
    """A provider with its models, as ``provider/model``. It is ``ready`` where it could answer.

    ``detail`` says how it is reached, ``hint`` what it lacks, and ``key`` is the variable that
    holds its key.
    """

    provider: str
    ready: bool
    models: tuple[str, ...] = ()
    detail: str = ""
    hint: str = ""
    key: str = ""


class ToolChoiceEntry(Struct, frozen=True):
    """A tool of the project, which a run may be begun without."""

    name: str
    description: str
    risk: str
    effect: str


class Choices(Struct, frozen=True):
    """All that a run can be begun with.

    ``default`` is the model of the settings with its fallbacks; ``problem`` is why it would not
    answer. ``agents`` are those of ``[studio] agents``. ``tools`` are those of the project;
    ``tools_problem`` is why they are not known.
    """

    default: tuple[str, ...]
    problem: str
    models: tuple[ModelGroup, ...]
    agents: tuple[str, ...]
    kinds: tuple[str, ...]
    tools: tuple[ToolChoiceEntry, ...]
    tools_problem: str

    @property
    def ready(self) -> tuple[ModelGroup, ...]:
        """The providers that could answer."""
        return tuple(group for group in self.models if group.ready)

    @property
    def lacking(self) -> tuple[ModelGroup, ...]:
        """The providers to begin with, where none could answer: what each of them lacks."""
        return tuple(g for g in self.models if g.provider in FIRST and not g.ready and g.hint)


class Offers:
    """Looks up what a run of a world can be started with, and caches it for some seconds."""

    def __init__(self, world: World, agents: Mapping[str, AgentDefinition[Any]]) -> None:
        self._world = world
        self._agents = agents
        self._models = Remembered(self._find_models, REMEMBERED_S)
        self._tools = Remembered(self._find_tools, REMEMBERED_S)

    async def choices(self) -> Choices:
        """Return what there is to choose."""
        config = self._world.config
        models = await self._models.get(PATIENCE_S) or ()
        tools = await self._tools.get(PATIENCE_S)
        found, problem = ((), "They are being looked up.") if tools is None else tools
        return Choices(
            default=config.default_models,
            problem=_problem(config, models),
            models=models,
            agents=tuple(self._agents),
            kinds=get_args(AgentKind),
            tools=found,
            tools_problem=problem,
        )

    async def aclose(self) -> None:
        """End what is being looked up."""
        await self._models.aclose()
        await self._tools.aclose()

    async def _find_models(self) -> tuple[ModelGroup, ...]:
        return tuple(_group(found) for found in await ask_local(self._world.config))

    async def _find_tools(self) -> tuple[tuple[ToolChoiceEntry, ...], str]:
        try:
            found = await tools_of(self._world, AgentDefinition(kind="chat"))
        except ArtificerError as error:
            return (), f"{error.message} {error.hint or ''}".strip()
        return tuple(_entry(tool) for tool in found.tools[:MAX_TOOLS]), ""


def _group(found: CheckedProvider) -> ModelGroup:
    finding = found.finding
    return ModelGroup(
        provider=finding.name,
        ready=finding.ok is True,
        models=found.models,
        detail=finding.detail,
        hint=finding.hint,
        key=finding.key,
    )


def _entry(tool: ToolDefinition) -> ToolChoiceEntry:
    return ToolChoiceEntry(
        tool.name, clip(tool.description, MAX_DESCRIPTION), tool.risk, tool.effect
    )


def _problem(config: Config, models: tuple[ModelGroup, ...]) -> str:
    """Return why the model of the settings would not answer, if that is known."""
    first = next(iter(config.default_models), "")
    group = next((g for g in models if g.provider == first.partition("/")[0]), None)
    if not first or (group is not None and group.ready):
        return ""
    if group is None:
        return f"{first}: there is no such provider."
    return f"{first} does not answer here: {group.detail}. {group.hint}".rstrip(". ") + "."

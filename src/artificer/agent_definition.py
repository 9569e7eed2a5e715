"""The definition of an agent: everything about a run except its prompt, as a shared value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Generic, Literal, TypedDict, get_args

from msgspec import Struct

from artificer.backends.function.decorator import FunctionTool
from artificer.contracts.capabilities import Capabilities
from artificer.contracts.definition import AGENT_ORIGIN, HANDOFF_ORIGIN, ToolDefinition
from artificer.contracts.model_settings import ModelSettings
from artificer.contracts.output import OutputT
from artificer.contracts.response_format import ResponseFormat
from artificer.core.policy import Policy
from artificer.core.spec import Limits
from artificer.errors import AuthorError, InvalidValueError, ToolDefinitionError
from artificer.ports import Executor, Provider, RunContext
from artificer.values.arguments import instance, listed, milliseconds, offers, shown, takes, yields
from artificer.values.base import JsonObject
from artificer.values.parameters import refuse_unknown

AgentKind = Literal["chat", "deliver"]
"""A ``chat`` ends in a text or in JSON, a ``deliver`` run in a report with its artifacts."""


class AgentTool(Struct, frozen=True):
    """An agent that a model may call as a tool: each call is a run of that agent.

    Either its text is the result of the call, or it takes the conversation over: a handoff.
    ``deps`` are the dependencies of those runs; without any they are those of the caller's run.
    """

    agent: AgentDefinition[Any]
    definition: ToolDefinition
    deps: Any = None


ExecutedTool = FunctionTool[..., Any] | Executor | str | Path
"""A decorated function, an executor, or a folder of manifests."""

Tool = ExecutedTool | AgentTool
"""One of those, or an agent as a tool."""

InstructionsFunction = Callable[[RunContext[Any]], str | Awaitable[str]]
"""Writes the system prompt when a run starts."""

Output = ResponseFormat | Mapping[str, Any] | type[Any] | UnionType | Callable[..., Any]
"""A JSON Schema, a type or a union of types that have one, or a function."""

DepsFactory = Callable[[], Any]
"""Creates the dependencies of a run; may be an ``async def``."""
OutputValidator = Callable[[Any], Any]
"""A function that accepts a value, perhaps changed, or rejects it with ValueError."""


class ChildOptions(TypedDict, total=False):
    """The options of an agent as a tool.

    ``timeout`` is the seconds of a call, 1800 without it; its run is cancelled then. ``deps`` are
    the dependencies of the child: a value, or a function of the caller's `RunContext` that returns
    one, also as an ``async def``. They are never recorded; the function is called again to resume
    the run.
    """

    timeout: float
    deps: Any


class AgentFieldsWithoutOutput(TypedDict, total=False):
    """The fields of an :class:`AgentDefinition` other than its output, as keyword arguments."""

    model: str | Provider | Sequence[str | Provider] | None
    kind: AgentKind | None
    instructions: str | InstructionsFunction | None
    tools: Iterable[Tool]
    only: Iterable[str] | None
    policy: Policy | None
    limits: Limits | None
    settings: ModelSettings | Sequence[ModelSettings] | None
    check: OutputValidator | None
    capabilities: Capabilities | None
    deps_factory: DepsFactory | None


class AgentFields(AgentFieldsWithoutOutput, total=False):
    """The fields of an :class:`AgentDefinition`, as keyword arguments."""

    output: Output | None


@dataclass(frozen=True, kw_only=True)
class AgentDefinition(Generic[OutputT]):
    """A model with its instructions, tools and rules. Runs, builds and forks share it.

    ``model`` is ``provider/model`` or a provider, or a list of them: the next one takes over when
    one does not answer. ``only`` narrows the toolset to the tools that it names. A run delivers a
    report (kind ``deliver``), unless it has an ``output`` or a ``check``, or is a ``chat`` by
    choice. With an ``output``, it ends in JSON that fits it, or it has failed; ``check`` accepts
    the output (or the text, without one), perhaps changed, or rejects it with ValueError.
    ``settings`` apply to all turns, or are a list with one entry for each turn, of which the last
    applies to all later turns. ``capabilities`` are a folder, workspaces and
    introspection. A field that is None takes its value from the configuration.

    ``instructions`` are a text, or a function of a `RunContext` that returns one, also as an
    ``async def``. It is called once, when a run begins; the text is recorded with the run.

    ``deps_factory`` is a function that creates the dependencies of a run if none are passed, so
    that any program that imports the agent can resume its runs.

    Resuming a run takes the functions, executors and the output type from its agent, and everything
    else from the journal.
    """

    model: str | Provider | Sequence[str | Provider] | None = field(default=None, kw_only=False)
    kind: AgentKind | None = None
    instructions: str | InstructionsFunction | None = None
    tools: Iterable[Tool] = ()
    only: Iterable[str] | None = None
    policy: Policy | None = None
    limits: Limits | None = None
    settings: ModelSettings | Sequence[ModelSettings] | None = None
    output: (
        UnionType
        | ResponseFormat
        | Mapping[str, Any]
        | type[OutputT]
        | Callable[..., Awaitable[OutputT]]
        | Callable[..., OutputT]
        | None
    ) = None
    check: OutputValidator | None = None
    capabilities: Capabilities | None = None
    deps_factory: DepsFactory | None = None

    def __post_init__(self) -> None:
        """Check what otherwise only a type checker would notice. Raises AuthorError."""
        object.__setattr__(self, "model", _checked_models(self.model))
        object.__setattr__(self, "tools", _checked_tools(self.tools))
        if self.only is not None:
            object.__setattr__(self, "only", listed("only", self.only, "an agent", "['read_file']"))
        if self.settings is not None:
            object.__setattr__(self, "settings", _checked_settings(self.settings))
        for name, kind in _TYPES.items():
            value = getattr(self, name)
            if not (value is None or isinstance(value, kind)):
                raise AuthorError(
                    f"The field {name} of an agent takes {kind.__name__}, not {value!r}.",
                    hint=_hint(name, kind, value),
                )
        if self.kind is not None and self.kind not in get_args(AgentKind):
            raise AuthorError(
                f"Unknown kind of run: {self.kind!r}.",
                hint=f"Kinds: {', '.join(get_args(AgentKind))}.",
            )
        if self.run_kind != "chat" and not (self.output is None and self.check is None):
            raise AuthorError(
                f"A run of kind {self.kind!r} ends in a report, not in JSON or a checked text.",
                hint="Use output= and check= with kind='chat', which is the default with them.",
            )
        if self.check is not None and not takes(self.check, 1):
            raise AuthorError(
                f"The check of an agent is {shown(self.check)}, not a function of one value.",
                hint="Pass a function that takes the output, and returns it or raises ValueError.",
            )
        if yields(self.check):
            raise AuthorError(
                f"The check of an agent is {shown(self.check)}, which yields.",
                hint="Return the output, or raise ValueError.",
            )
        if not (isinstance(self.instructions, str | None) or takes(self.instructions, 1)):
            raise AuthorError(
                f"The instructions of an agent are {shown(self.instructions)}, not a text and not "
                "a function of a RunContext.",
                hint="Pass a text, or a function: def instructions(ctx: RunContext) -> str.",
            )
        if self.deps_factory is not None and not takes(self.deps_factory, 0):
            raise AuthorError(
                f"The deps_factory of an agent is {shown(self.deps_factory)}, not a function "
                "without parameters.",
                hint="Pass a function that creates them, or the object itself to run(…, deps=…).",
            )

    @property
    def has_output(self) -> bool:
        """Whether the agent's own code makes its runs' output: a type, a function or a check."""
        plain = self.output is None or isinstance(self.output, (ResponseFormat, Mapping))
        return not plain or self.check is not None

    @property
    def run_kind(self) -> AgentKind:
        """The kind of the agent's runs: a report, unless they end in JSON or it is set."""
        plain = self.output is None and self.check is None
        return self.kind or ("deliver" if plain else "chat")


def defined(agent: AgentDefinition[OutputT] | None) -> AgentDefinition[OutputT]:
    """Return an agent, or the configured one for None. Raises AuthorError for any other value."""
    if agent is None:
        return AgentDefinition()
    return instance("agent", agent, AgentDefinition, "Pass an artificer.Agent(…).")


def _checked_models(
    models: str | Provider | Sequence[str | Provider] | None,
) -> str | Provider | tuple[str | Provider, ...] | None:
    several = isinstance(models, Sequence) and not isinstance(models, str)
    named = tuple(models) if isinstance(models, Sequence) and several else (models,)
    for model in named:
        if not (model is None or isinstance(model, str) or offers(model, "generate")):
            raise AuthorError(
                f"The model of an agent is {shown(model)}, not provider/model and not a provider.",
                hint='Write provider/model: Agent("anthropic/claude-sonnet-5-5").',
            )
    if isinstance(models, str) or not isinstance(models, Sequence):
        return models
    if not models:
        raise AuthorError(
            "The list of an agent's models is empty.",
            hint='Name at least one: Agent(["anthropic/…", "openai/…"]).',
        )
    return models[0] if len(models) == 1 else tuple(models)


def _checked_settings(
    settings: ModelSettings | Sequence[ModelSettings],
) -> ModelSettings | tuple[ModelSettings, ...]:
    turns = tuple(settings) if isinstance(settings, Sequence) else (settings,)
    if not turns or not all(isinstance(turn, ModelSettings) for turn in turns):
        raise AuthorError(
            "The settings of an agent are ModelSettings, or a list of them, one for each turn.",
            hint="settings=artificer.ModelSettings(temperature=0.2)",
        )
    return settings if isinstance(settings, ModelSettings) else turns


_TYPES: dict[str, type] = {
    "limits": Limits,
    "policy": Policy,
    "capabilities": Capabilities,
}
"""The types of the fields that hold a value of ours."""


def _hint(name: str, kind: type, value: object) -> str:
    members = [*value.items()] if isinstance(value, Mapping) else []
    fields = ", ".join(f"{key}={item!r}" for key, item in members) or "…"
    return f"{name}={kind.__name__}({fields})"


def shared_tools(tools: Iterable[ExecutedTool]) -> tuple[ExecutedTool, ...]:
    """Return the tools that a world gives to all its runs. Raises AuthorError."""
    found: list[ExecutedTool] = []
    for tool in _checked_tools(tools, "a world"):
        if isinstance(tool, AgentTool):
            raise AuthorError(
                f"The agent {tool.definition.name!r} cannot be a tool of every run, "
                "including its own.",
                hint="Pass it to the agents that call it: Agent(tools=[…]).",
            )
        found.append(tool)
    return tuple(found)


def _checked_tools(tools: Iterable[Tool], owner: str = "an agent") -> tuple[Tool, ...]:
    if isinstance(tools, (str, Path)):
        raise AuthorError(f"The tools of {owner} are a list.", hint=f"tools=[{str(tools)!r}]")
    checked = listed("tools", tools, owner)
    for tool in checked:
        if not (isinstance(tool, (FunctionTool, AgentTool, str, Path)) or offers(tool, "execute")):
            hint = "Write @artificer.tool above a function, or pass an executor or a folder."
            if isinstance(tool, AgentDefinition):
                hint = "Pass agent.as_tool(name, description), or agent.as_handoff(…)."
            raise AuthorError(f"{shown(tool)} is not a tool.", hint=hint)
    return checked


def agent_tool(
    agent: AgentDefinition[Any], name: str, description: str, options: ChildOptions
) -> AgentTool:
    """Return an agent as a tool. Raises ToolDefinitionError for an unusable name."""
    task = "The task, with everything there is to know."
    definition = _definition(name, description, task, options, origin=AGENT_ORIGIN)
    return AgentTool(agent, definition, options.get("deps"))


def handoff_tool(
    agent: AgentDefinition[Any], name: str, description: str, options: ChildOptions
) -> AgentTool:
    """Return an agent as a tool that takes over. Raises ToolDefinitionError for a bad name."""
    text = f"Hand the conversation over to {name}, who answers in your place. {description}"
    task = "What is to be done now, in a sentence or two. The whole conversation is passed on."
    more = {"origin": HANDOFF_ORIGIN, "resources": ("conversation",)}
    definition = _definition(f"transfer_to_{name}", text, task, options, **more)
    return AgentTool(agent, definition, options.get("deps"))


def _definition(
    name: str, description: str, task: str, options: ChildOptions, **labels: Any
) -> ToolDefinition:
    prompt: JsonObject = {"type": "string", "description": task}
    known = ("name", "description", *ChildOptions.__annotations__)
    refuse_unknown("An agent as a tool", options, known)
    try:
        timeout_ms = milliseconds(options.get("timeout", 1800))
    except ValueError as error:
        raise ToolDefinitionError(f"The timeout of the agent {name!r} {error}.") from error
    try:
        return ToolDefinition(
            name=name,
            description=description,
            input_schema={
                "type": "object",
                "properties": {"prompt": prompt},
                "required": ["prompt"],
                "additionalProperties": False,
            },
            effect="keyed",
            timeout_ms=timeout_ms,
            **labels,
        )
    except InvalidValueError as error:
        raise ToolDefinitionError(f"The agent cannot be the tool {name!r}: {error}") from error

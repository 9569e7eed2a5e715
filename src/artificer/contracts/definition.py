"""Tool definitions and toolsets: what a model may call, and under which contract."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from artificer.contracts.model_settings import RequestSettings
from artificer.contracts.response_format import ResponseFormat
from artificer.errors import ToolDefinitionError
from artificer.values.base import CheckedValue, JsonObject, JsonValue, Meta, Value
from artificer.values.canon import canonical, digest_of
from artificer.values.model import ToolChoice

EffectClass = Literal["pure", "idempotent", "keyed", "once"]
"""Whether a call with an unknown outcome may be repeated after a crash (invariant 3).

``pure`` changes nothing; ``idempotent`` may be run again; ``keyed`` may be run again with the same
idempotency key; ``once`` may not, and is ``ambiguous``.
"""

Risk = Literal["info", "low", "medium", "high", "critical"]
RISKS: tuple[Risk, ...] = get_args(Risk)
"""From the least to the greatest."""

Trust = Literal["trusted", "untrusted"]
"""Whether what a tool returns may be taken for what its author meant it to return."""

Isolation = Literal["", "thread", "process"]
"""Where a synchronous Python function runs, and so what the end of its time means.

``thread``: it cannot be stopped. A call that is not ``pure`` is then ``ambiguous``, and nothing
that shares its resources starts while it continues. ``process``: it is killed, with everything that
it started. All other tools have none of their own, and have ended when their call ends.
"""

BackendName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]

BACKENDS: tuple[BackendName, ...] = (
    "artifact",
    "browser",
    "command",
    "function",
    "host",
    "http",
    "introspect",
    "mcp",
    "session",
    "workspace",
)
"""The backends that are built in. Installed packages may add others."""

DEFAULT_TIMEOUT_MS = 120_000
"""Wall time of one call, spawn, validation and output parsing included."""


_PLACE = re.compile(r"\{([A-Za-z0-9_-]+)\}")


AGENT_ORIGIN = "agent"
"""The origin of a tool that is an agent: each call is a run of that agent."""

HANDOFF_ORIGIN = "handoff"
"""The origin of a tool that hands the conversation over to an agent."""

AGENT_ORIGINS = frozenset({AGENT_ORIGIN, HANDOFF_ORIGIN})


class CedarKeys(CheckedValue):
    """``[tool.cedar]``: the type of the resource that a call is about, and the action it takes."""

    resource: str = ""
    action: str = ""


class ToolDefinition(CheckedValue):
    """One tool: its name, what it is for, the JSON Schema of its arguments, and its contract.

    Names are ours, any of ``[A-Za-z0-9_.-]``, at most 64 characters; each provider maps them to
    what it accepts. ``input_schema`` is JSON Schema 2020-12 of type object. With
    ``human_approval`` a person is asked before every call that policy allows. ``resources`` names
    what a call needs to itself, such as ``file:{path}``, where ``{path}`` is an argument: calls of
    one turn that share a resource run one after the other, unless all of them are ``pure``. With
    ``probe`` the tool can tell afterwards whether a call had happened; with ``fenced`` its target
    rejects fencing tokens lower than the highest that it has seen for a call. ``isolation`` says
    what the end of its time means for a Python function.

    ``trust``, ``sensitive`` and ``origin`` are labels for the policy. What an ``untrusted`` tool
    returns may have been written by anybody; a ``sensitive`` one reaches what such data must not
    reach without a person's approval. ``origin`` says where the tool comes from, as
    ``mcp:SERVER`` or ``command:FOLDER``. ``cedar`` says what a call is to Cedar policies.
    """

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}\Z")]
    description: str
    input_schema: dict[str, JsonValue]
    effect: EffectClass = "once"
    risk: Risk = "low"
    human_approval: bool = False
    timeout_ms: Annotated[int, Meta(gt=0)] = DEFAULT_TIMEOUT_MS
    backend: BackendName = "function"
    trust: Trust = "trusted"
    sensitive: bool = False
    origin: str = ""
    resources: tuple[str, ...] = ()
    cedar: CedarKeys = CedarKeys()
    probe: bool = False
    isolation: Isolation = ""
    fenced: bool = False

    @property
    def contract(self) -> ToolDefinition:
        """The tool without its labels: what must stay the same while a run continues."""
        labels = {"trust": "trusted", "sensitive": False, "origin": "", "cedar": CedarKeys()}
        return self.replace(**labels, isolation="")

    def resources_of(self, arguments: JsonObject, *, defaults: bool = True) -> tuple[str, ...]:
        """The resources of a call. An argument that is absent has the default of the schema, and
        leaves its place empty without one. Without ``defaults``, as before rules 4, it always does.
        """
        if not self.resources:
            return ()

        def value(match: re.Match[str]) -> str:
            absent = self._default(match[1]) if defaults else ""
            found = arguments.get(match[1], absent)
            return found if isinstance(found, str) else canonical(found).decode()

        return tuple(_PLACE.sub(value, resource) for resource in self.resources)

    def _default(self, name: str) -> JsonValue:
        properties = self.input_schema.get("properties")
        stated = properties.get(name) if isinstance(properties, dict) else None
        return stated.get("default", "") if isinstance(stated, dict) else ""


class Toolset(Value):
    """The tool definitions that a run may use. Names are unique."""

    tools: tuple[ToolDefinition, ...] = ()

    def get(self, name: str) -> ToolDefinition | None:
        """The tool of that name, or None."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in order."""
        return tuple(tool.name for tool in self.tools)

    def to_text(self) -> str:
        """Canonical JSON text: the neutral form that is stored."""
        tools = [_without_later(tool.to_json()) for tool in self.tools]
        return canonical({"tools": tools}).decode()  # schemas may hold floats

    @property
    def digest(self) -> str:
        """Digest of the neutral form."""
        return digest_of(self.to_text().encode())


_LATER = {"isolation": "", "fenced": False}
"""Members added after the first release: their defaults are left out, so digests stay."""


def _without_later(tool: JsonObject) -> JsonObject:
    return {name: member for name, member in tool.items() if _LATER.get(name, ...) != member}


def toolset(tools: tuple[ToolDefinition, ...]) -> Toolset:
    """Collect definitions. Raises ToolDefinitionError when two share a name."""
    names = [tool.name for tool in tools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ToolDefinitionError(
            f"Two tools are called {twice[0]!r}.", hint="Rename one of them, or leave one out."
        )
    return Toolset(tools=tools)


class ModelRequest(Value):
    """One request to a model, in normal form. The conversation is passed separately.

    ``cache_key`` names what the request begins with, its tools and system prompt: a provider that
    can shall keep what it has read, for the next request that begins so. Empty is: as it likes.
    ``response_format`` is what a reply without tool calls has to be. ``settings`` are those beyond
    ``max_tokens`` and ``temperature``.
    """

    model: str
    system: str
    tools: tuple[ToolDefinition, ...]
    tool_choice: ToolChoice
    max_tokens: int
    temperature: float | None = None
    cache_key: str = ""
    response_format: ResponseFormat | None = None
    settings: RequestSettings = RequestSettings()

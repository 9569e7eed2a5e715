"""A run's task and its limits: everything that is fixed at its start."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Self

from artificer.builds.facts import BuildRequested
from artificer.contracts.capabilities import Capabilities
from artificer.contracts.definition import ToolDefinition, Toolset
from artificer.contracts.model_settings import Decimal, RequestSettings
from artificer.contracts.response_format import ResponseFormat
from artificer.core.kinds import PROMPTED, RunKind
from artificer.core.policy import Policy
from artificer.core.price import Price
from artificer.core.repeats import FEWEST_REPEATS
from artificer.core.submission import Submission
from artificer.core.taint import Taint
from artificer.values.base import CheckedValue, Count, Meta, NaturalNumber
from artificer.values.blocks import AttachedBlock, Message
from artificer.values.canon import MAX_SAFE_INTEGER, canonical, digest_of
from artificer.values.model import ToolChoice
from artificer.values.tokens import tokens_of


class _Remembered(type(CheckedValue)):  # type: ignore[misc]
    """Keeps the names of the limits that a person set."""

    if not TYPE_CHECKING:  # or a type checker would take this for the signature

        def __call__(cls, *positional: Any, **limits: Any) -> Any:
            made = super().__call__(*positional, **limits)
            made.__dict__["named"] = frozenset(limits)
            return made


class Limits(CheckedValue, metaclass=_Remembered, dict=True, gc=True):
    """Bounds of a run (invariant 7). Each stop names the bound that was hit.

    ``turns`` counts model requests, ``repairs`` the rounds in which a faulty reply is sent back,
    ``calls`` the tool calls of one turn, ``concurrency`` those performed at once, ``max_tokens``
    the output of one reply, ``continuations`` how often a prompt's report that was cut there is
    continued, ``total_tokens`` input and output of the whole run, ``cost_micros``
    its cost in micro-dollars (which takes a known ``price``), ``wall_ms`` the time since the
    start or the last resumption, ``result_chars`` what the model is shown of one tool's result
    (code points), ``context_tokens`` one request and its reply: before more would be sent, the
    oldest turns give way (None is as much as the provider takes), ``tool_ms`` the durations of all
    tool calls together, ``output_chars`` all that the model is shown of their results.

    ``repeats`` is how often in a row a model may make the same calls with the same results, or two
    such turns in alternation: from half of that on a note says so, then the run ends. None sets no
    limit.

    ``attachments`` are the images, sounds and files of a conversation, ``attachment_bytes`` the
    size of each, ``attached_bytes`` of all of them. A prompt with more is refused; of a tool's
    result, those within the limits are kept, and the model reads which were left out.

    Where ``waiting_counts`` is false, ``wall_ms`` leaves out the time in which nothing was in
    progress but a question to a person.
    """

    turns: Count = 15
    repairs: NaturalNumber = 4
    calls: Count = 32
    concurrency: Count = 8
    max_tokens: Count = 4096
    total_tokens: Count | None = None
    cost_micros: Count | None = None
    wall_ms: Count = 1_800_000
    result_chars: Count = 32_000
    context_tokens: Count | None = None
    tool_ms: Count | None = None
    output_chars: Count | None = None
    waiting_counts: bool = True
    repeats: Annotated[int, Meta(ge=FEWEST_REPEATS, le=MAX_SAFE_INTEGER)] | None = None
    continuations: NaturalNumber = 0
    attachments: NaturalNumber = 50
    attachment_bytes: Count = 10_000_000
    attached_bytes: Count = 20_000_000

    @property
    def named(self) -> frozenset[str]:
        """The names of the limits that were set when it was made, also of those set to None."""
        named: frozenset[str] = self.__dict__.get("named", frozenset(self.field_names()))
        return named

    if not TYPE_CHECKING:

        def replace(self, **limits: Any) -> Self:
            """Return a copy with other limits, which are named besides those that were."""
            made = super().replace(**limits)
            made.__dict__["named"] = self.named.union(limits)
            return made


class Fallback(CheckedValue):
    """A model that takes over when those before it do not answer.

    The members are those of a :class:`RunSpec` and of its limits that differ from model to model.
    """

    provider: str
    wire: str = ""
    model: str
    price: Price | None = None
    temperature: Decimal | None = None
    settings: tuple[RequestSettings, ...] = ()
    max_tokens: Count = 4096
    context_tokens: Count | None = None
    continuations: NaturalNumber = 0


class RunSpec(CheckedValue):
    """A run's prompt and its surroundings.

    ``toolset`` is the canonical JSON text of the :class:`Toolset`. ``choices`` gives the tool
    choice turn by turn; the last one stays in force, and so do ``settings``. ``temperature`` is
    that of a run without ``settings``: a decimal in text.
    ``wire`` is the protocol in which the provider is spoken to, and how, where that is not the
    same everywhere: what a replay must know of the environment. ``sources`` are the folders of
    manifests that the tools came from, so that resuming finds them; ``facilities`` is what else the
    run was given. ``compaction`` is the system prompt of the request for a summary, when the
    conversation has become too long; without one the oldest turns are dropped. ``caching`` asks
    providers to keep what they have read for the next turn. With a ``response_format`` the final
    reply is JSON that fits it, or the run has failed. ``project`` is the folder whose software a
    build makes, ``parent`` the run that started this one: a build, or a run whose model called this
    one's agent as a tool. ``rules`` is the version of the
    reducer's rules (:mod:`artificer.core.rules`). ``output_check`` names a function of the
    agent that checks final replies as well. ``attachments`` come before the prompt, and before both
    the messages of ``history``, taken from the run ``history_from``; ``taint`` is the untrusted
    tool whose result they hold. ``fallbacks`` are the models that take over, in order, when the
    model does not answer. With a ``submission`` workers execute the run.
    """

    kind: RunKind
    prompt: str
    system: str = ""
    provider: str
    wire: str = ""
    model: str
    toolset: str
    sources: tuple[str, ...] = ()
    facilities: Capabilities = Capabilities()
    policy: Policy = Policy()
    limits: Limits = Limits()
    price: Price | None = None
    build: BuildRequested | None = None
    project: str = ""
    parent: str = ""
    choices: Annotated[tuple[ToolChoice, ...], Meta(min_length=1)] = (ToolChoice(),)
    temperature: Decimal | None = None
    compaction: str = ""
    caching: bool = False
    response_format: ResponseFormat | None = None
    rules: Annotated[int, Meta(ge=1)] = 1
    output_check: str = ""
    attachments: tuple[AttachedBlock, ...] = ()
    settings: tuple[RequestSettings, ...] = ()
    history: tuple[Message, ...] = ()
    history_from: str = ""
    taint: Taint | None = None
    fallbacks: tuple[Fallback, ...] = ()
    submission: Submission | None = None

    @property
    def full_name(self) -> str:
        """The model as ``provider/model``."""
        return f"{self.provider}/{self.model}"

    @property
    def full_names(self) -> tuple[str, ...]:
        """The model and its fallbacks, as ``provider/model``."""
        return (self.full_name, *[f"{each.provider}/{each.model}" for each in self.fallbacks])

    def as_fallback(self) -> Fallback:
        """Return the model as it would stand in the list of another run."""
        limits = self.limits
        return Fallback(
            provider=self.provider,
            wire=self.wire,
            model=self.model,
            price=self.price,
            temperature=self.temperature,
            settings=self.settings,
            max_tokens=limits.max_tokens,
            context_tokens=limits.context_tokens,
            continuations=limits.continuations,
        )

    def fallen_back(self) -> RunSpec:
        """Return the spec with its first fallback in the model's place."""
        model, *rest = self.fallbacks
        limits = self.limits.replace(
            max_tokens=model.max_tokens,
            context_tokens=model.context_tokens,
            continuations=model.continuations,
        )
        return self.replace(
            provider=model.provider,
            wire=model.wire,
            model=model.model,
            price=model.price,
            temperature=model.temperature,
            settings=model.settings,
            limits=limits,
            fallbacks=tuple(rest),
        )

    def tools(self) -> Toolset:
        """The toolset, parsed."""
        return _parsed(self.toolset)

    def tool(self, name: str) -> ToolDefinition | None:
        """The tool of that name, or None."""
        return _by_name(self.toolset).get(name)

    @property
    def belongs_to_build(self) -> bool:
        """Whether a build started the run, not another agent."""
        return bool(self.parent) and self.kind not in PROMPTED

    def choice(self, turn: int) -> ToolChoice:
        """The tool choice of a turn, counted from 1."""
        return self.choices[min(turn, len(self.choices)) - 1]

    def settings_of(self, turn: int) -> RequestSettings:
        """The settings of a turn's request, counted from 1."""
        if not self.settings:
            return _temperate(self.temperature)
        return self.settings[min(turn, len(self.settings)) - 1]

    @property
    def checked_by(self) -> tuple[str, ...]:
        """The names of the agent's own code that checks final replies: a type, a function."""
        kind = self.response_format.type if self.response_format else ""
        return tuple([name for name in (kind, self.output_check) if name])

    @property
    def fixed_tokens(self) -> int:
        """Estimate the tokens of every request without the conversation."""
        parts = [self.system, self.toolset]
        if self.response_format is not None:
            parts.append(self.response_format.json_schema)
        return sum(tokens_of(part.encode()) for part in parts)

    @property
    def cache_key(self) -> str:
        """Return a short name for the beginning of this run's requests; empty without caching."""
        return _cache_key(self.system, self.toolset) if self.caching else ""

    @property
    def digest(self) -> str:
        """Digest of what was asked for."""
        return digest_of(self.identity())


@lru_cache(maxsize=64)
def _temperate(temperature: str | None) -> RequestSettings:
    return RequestSettings(temperature=temperature)


@lru_cache(maxsize=64)
def _cache_key(system: str, tools: str) -> str:
    return digest_of(canonical([system, tools])).removeprefix("sha256:")[:32]


@lru_cache(maxsize=64)
def _parsed(text: str) -> Toolset:
    return Toolset.read(text)


@lru_cache(maxsize=64)
def _by_name(toolset: str) -> dict[str, ToolDefinition]:
    # Of two with one name, as only somebody else's journal has them, the first, as the gate does.
    return {tool.name: tool for tool in reversed(_parsed(toolset).tools)}

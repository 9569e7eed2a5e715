"""From an agent to what is recorded of it: a run's spec."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from artificer import core
from artificer.agent_definition import AgentDefinition
from artificer.artifacts.binding.bindable import takes_data
from artificer.config import Config
from artificer.contracts.definition import Toolset
from artificer.contracts.model_settings import RequestSettings
from artificer.contracts.output import type_name
from artificer.contracts.response_format import format_of
from artificer.core.kinds import KINDS, RunKind
from artificer.core.policy import Policy
from artificer.core.price import Price
from artificer.core.rules import RULES
from artificer.core.spec import Fallback, Limits, RunSpec
from artificer.errors import AuthorError, ConfigError, InvalidValueError
from artificer.ports import Provider
from artificer.providers.caller import NAME as CALLER
from artificer.providers.chain import chained
from artificer.system.files import packaged
from artificer.wiring.providers import wire_of
from artificer.wiring.replies import continuations_of, longest_reply_of, max_tokens_of
from artificer.wiring.settings import choices_of, settings_facts


class ChosenModel(Struct, frozen=True):
    """The model of a run, with the settings, the limits and the policy that apply to it.

    ``fallbacks`` take over, in order, when it does not answer.
    """

    provider: Provider
    name: str
    limits: Limits
    policy: Policy
    settings: tuple[RequestSettings, ...] = ()
    fallbacks: tuple[ChosenModel, ...] = ()

    @property
    def providers(self) -> Provider:
        """The provider of the model, with those of its fallbacks where it has any."""
        return chained([self.provider, *(model.provider for model in self.fallbacks)])

    @property
    def by_name(self) -> dict[str, Provider]:
        """The providers of the model and of its fallbacks, by their full names."""
        return {model.full_name: model.provider for model in (self, *self.fallbacks)}

    @property
    def full_name(self) -> str:
        """``provider/model``."""
        return f"{self.provider.name}/{self.name}"


class Recorded(Struct, frozen=True):
    """A run that is recorded, or copied from one that is: its id, its spec, its provider.

    ``build_tokens`` replaces the limit of what all runs of a build may use together. A run
    ``is_new`` until its model has replied.
    """

    run: str
    spec: RunSpec
    provider: Provider
    build_tokens: int | None = None
    is_new: bool = False


def make_spec(model: ChosenModel, config: Config, **facts: Any) -> RunSpec:
    """Return the spec of a new run.

    Raises:
        AuthorError: a fact is not valid.
        ConfigError: the cost is limited, and the model's price is not known.
    """
    try:
        return RunSpec(
            rules=RULES,
            provider=model.provider.name,
            wire=wire_of(model.provider),
            model=model.name,
            policy=model.policy,
            limits=model.limits,
            price=price_of(model.full_name, model.limits, config),
            compaction=compaction_prompt(),
            caching=config.prompt_caching,
            fallbacks=tuple(fallback_of(each, config) for each in model.fallbacks),
            **settings_facts(model.settings),
            **facts,
        )
    except InvalidValueError as error:
        raise AuthorError(f"This run cannot start: {error.pointer[1:]} {error.reason}.") from error


def fallback_of(model: ChosenModel, config: Config) -> Fallback:
    """Return what a spec records of a fallback. Raises ConfigError as :func:`make_spec` does."""
    return Fallback(
        provider=model.provider.name,
        wire=wire_of(model.provider),
        model=model.name,
        price=price_of(model.full_name, model.limits, config),
        max_tokens=model.limits.max_tokens,
        context_tokens=model.limits.context_tokens,
        continuations=model.limits.continuations,
        **settings_facts(model.settings),
    )


def agent_facts(agent: AgentDefinition[Any]) -> dict[str, Any]:
    """Return the parts of an agent that a spec records, except its model and its tools.

    Raises:
        AuthorError: its output cannot be used.
    """
    text = agent.instructions
    return {
        "kind": agent.run_kind,
        "system": text if isinstance(text, str) else system_prompt(agent.run_kind),
        "choices": choices_of(agent.settings),
        "response_format": None if agent.output is None else format_of(agent.output),
        "output_check": type_name(agent.check) if agent.check else "",
    }


def limits_of(kind: RunKind, own: Limits | None, config: Config, model: str) -> Limits:
    """A run's own limits, completed from its kind, the model and the project."""
    own = own or Limits()
    usual = {"turns": KINDS[kind].turns, "waiting_counts": False, **config.budget.run}
    usual["continuations"] = continuations_of(kind, model)
    if model in config.context_tokens:
        usual["context_tokens"] = config.context_tokens[model]
    missing = {name: usual[name] for name in usual.keys() - own.named}
    limits = own.replace(**missing)
    if "max_tokens" in own.named:
        return limits
    return limits.replace(max_tokens=max_tokens_of(kind, model, limits, config))


def with_longest(limits: Limits, settings: Sequence[RequestSettings], own: Limits | None) -> Limits:
    """The limits with the longest reply that the settings of a turn name, unless they name one."""
    named = [turn.max_tokens for turn in settings if turn.max_tokens is not None]
    if not named or (own is not None and "max_tokens" in own.named):
        return limits
    longest = max(named)
    return limits.replace(
        max_tokens=longest if len(named) == len(settings) else max(longest, limits.max_tokens)
    )


def limits_for(model: str, recorded: Limits, config: Config) -> Limits:
    """The limits of a recorded run for another model, which may not write as much at once."""
    longest = longest_reply_of(model, config)
    if longest is None or longest >= recorded.max_tokens:
        return recorded
    return recorded.replace(max_tokens=longest)


def price_of(model: str, limits: Limits, config: Config) -> Price | None:
    """The model's price. A cost limit needs one: raises ConfigError if it is not known."""
    if model.startswith(f"{CALLER}/"):  # no model is asked
        return Price(input=0, output=0)
    price = config.price_of(model)
    limited = limits.cost_micros or config.budget.per_day_dollars
    if price is None and limited is not None:
        raise ConfigError(
            f"The price of {model!r} is not known, so its cost cannot be limited.",
            hint=f'Set it in artificer.toml: [prices."{model}"] input = …, output = …',
        )
    return price


def system_prompt(kind: RunKind) -> str:
    """Return the system prompt of a kind of run."""
    return _prompt(KINDS[kind].prompt)


def with_bindings(system: str, toolset: Toolset) -> str:
    """Return the system prompt of a run, with how to bind if its tools can be bound."""
    return f"{system}\n\n{_prompt('bind.md')}" if any(map(takes_data, toolset.tools)) else system


def compaction_prompt() -> str:
    """Return the system prompt of a request for a summary."""
    return _prompt("compact.md")


@lru_cache
def _prompt(name: str) -> str:
    return packaged(core, "prompts", name).strip()

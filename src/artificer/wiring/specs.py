"""From the arguments of a call to what is recorded of them: a run's spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from artificer.backends.function.executor import FunctionTool
from artificer.config import Config
from artificer.contracts.response_format import (
    OutputCheck,
    ResponseFormat,
    format_of,
    output_check,
)
from artificer.core.kinds import ASKED, KINDS, RunKind
from artificer.core.price import Price
from artificer.core.rules import RULES
from artificer.core.spec import Limits, RunSpec
from artificer.errors import AuthorError, ConfigError, InvalidValueError
from artificer.wiring.replies import continuations_of, max_tokens_of, most_of
from artificer.wiring.toolbox import Tool


def checked_tools(tools: Iterable[Tool], kind: str) -> list[Tool]:
    """The tools. Raises AuthorError for what only a type checker would have caught."""
    if kind not in ASKED:
        raise AuthorError(f"There is no kind of run {kind!r}.", hint=f"Kinds: {', '.join(ASKED)}.")
    if isinstance(tools, str | Path):
        raise AuthorError("The tools of a run are a list.", hint=f"tools=[{str(tools)!r}]")
    checked = list(tools)
    for tool in checked:
        if not (isinstance(tool, FunctionTool | str | Path) or hasattr(tool, "execute")):
            raise AuthorError(
                f"{tool!r} is not a tool.",
                hint="Write @artificer.tool above a function; or give an Executor or a folder.",
            )
    return checked


def checked_format(
    given: ResponseFormat | Mapping[str, Any] | type[Any], kind: str
) -> ResponseFormat:
    """The response format. Raises AuthorError for one that cannot be used, or not in this kind."""
    if kind != "chat":
        raise AuthorError(
            f"A run of kind {kind!r} ends in a text that cites its artifacts, not in JSON.",
            hint="Ask for JSON with kind='chat'.",
        )
    return format_of(given)


def typed(given: ResponseFormat | Mapping[str, Any] | type[Any] | None) -> type[Any] | None:
    """The type, where a response format is given as one."""
    return None if given is None or isinstance(given, ResponseFormat | Mapping) else given


def check_of(asked: ResponseFormat | None, given: type[Any] | None) -> OutputCheck | None:
    """Return the check of a run's replies by the type that its format was made of.

    Raises:
        ConfigError: the type was not given, or it is another one by now.
    """
    if asked is None or not asked.type:
        return None
    if given is None:
        raise ConfigError(
            f"The replies of this run are held against the type {asked.type}, which is not here.",
            hint=f"Give it from Python: response_format={asked.type.rpartition('.')[2]}.",
        )
    if format_of(given) != asked:
        raise ConfigError(f"The type {asked.type} is not the one with which the run began.")
    return output_check(given)


def make_spec(**facts: Any) -> RunSpec:
    """The run's spec. Raises AuthorError likewise."""
    try:
        return RunSpec(rules=RULES, **facts)
    except InvalidValueError as error:
        raise AuthorError(f"This run cannot begin: {error.pointer[1:]} {error.reason}.") from error


def limits_of(kind: RunKind, given: Limits | None, config: Config, model: str) -> Limits:
    """The given limits; what was not given is that of the kind of run, the model, the project."""
    given = given or Limits()
    usual = {"turns": KINDS[kind].turns, "waiting_counts": False, **config.budget.run}
    usual["continuations"] = continuations_of(kind, model)
    if model in config.context_tokens:
        usual["context_tokens"] = config.context_tokens[model]
    missing = {name: usual[name] for name in usual.keys() - given.named}
    limits = given.replace(**missing)
    if "max_tokens" in given.named:
        return limits
    return limits.replace(max_tokens=max_tokens_of(kind, model, limits, config))


def limits_for(model: str, recorded: Limits, config: Config) -> Limits:
    """The limits of a recorded run for another model, which may not write as much at once."""
    most = most_of(model, config)
    if most is None or most >= recorded.max_tokens:
        return recorded
    return recorded.replace(max_tokens=most)


def price_of(model: str, limits: Limits, config: Config) -> Price | None:
    """The model's price. A cost limit needs one: raises ConfigError where it is not known."""
    price = config.price_of(model)
    limited = limits.cost_micros or config.budget.per_day_dollars
    if price is None and limited is not None:
        raise ConfigError(
            f"The price of {model!r} is not known, so its cost cannot be limited.",
            hint=f'Give it in artificer.toml: [prices."{model}"] input = …, output = …',
        )
    return price

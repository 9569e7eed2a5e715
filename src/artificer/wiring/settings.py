"""From the settings of an agent and of a model to those that a run records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from artificer.backends.secrets.redaction import Redactor
from artificer.config import Config
from artificer.contracts.model_settings import ModelKeys, ModelSettings, RequestSettings
from artificer.errors import AuthorError, ConfigError
from artificer.ports import Provider
from artificer.providers.longest_reply import begins
from artificer.providers.registry import Selective
from artificer.values.model import ToolChoice

AgentSettings = ModelSettings | Sequence[ModelSettings] | None
"""The settings of all turns, or of each turn, of which the last stay in force."""

_BUDGETS = {"low": 1_024, "medium": 4_096, "high": 16_384}
_BUDGETED = (
    *("claude-3-7-sonnet", "claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-5"),
    *("claude-opus-4", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5", "claude-haiku-4-5"),
)
"""Models of Anthropic that take a number of tokens and no effort: those before 4.6."""


def each_turn(settings: AgentSettings) -> tuple[ModelSettings, ...]:
    """Return the settings turn by turn."""
    if settings is None:
        return (ModelSettings(),)
    return (settings,) if isinstance(settings, ModelSettings) else tuple(settings)


def choices_of(settings: AgentSettings) -> tuple[ToolChoice, ...]:
    """Return the tool choices turn by turn.

    Raises:
        AuthorError: the settings of one turn hold the choices of several.
    """
    turns = each_turn(settings)
    if len(turns) == 1:
        return turns[0].choices
    if any(len(turn.choices) > 1 for turn in turns):
        raise AuthorError(
            "The settings of one turn name the tool choices of several turns.",
            hint="Give each turn's ModelSettings one tool_choice.",
        )
    return tuple(turn.choices[0] for turn in turns)


def settings_of(
    settings: AgentSettings, model: str, provider: Provider, config: Config, redactor: Redactor
) -> tuple[RequestSettings, ...]:
    """Return what a run of ``provider/model`` records: the agent's own, else those configured.

    Raises:
        ConfigError: the server does not take a setting, or a secret is written out.
    """
    configured = config.models.get(model, ModelKeys())
    recorded = [_fitting(turn.over(configured).recorded, model) for turn in each_turn(settings)]
    check_taken(recorded, model, provider)
    for turn in recorded:
        _check_secrets(turn, redactor)
    return tuple(recorded) if any(turn.named for turn in recorded) else ()


def settings_facts(settings: tuple[RequestSettings, ...]) -> dict[str, Any]:
    """Return the members of a spec. A temperature that is the same in all turns is one of them."""
    if len(settings) == 1 and settings[0].named == {"temperature"}:
        return {"temperature": settings[0].temperature}
    return {"settings": settings}


def check_taken(settings: Sequence[RequestSettings], model: str, provider: Provider) -> None:
    """Raise ConfigError for a setting that the server of a model has no member for."""
    for turn in settings:
        refused = provider.refused(turn) if isinstance(provider, Selective) else ()
        if refused:
            raise ConfigError(
                f"{model} does not support the setting: {', '.join(refused)}.",
                hint="Leave it out, or send the server's own parameter with extra_body.",
            )


def _fitting(settings: RequestSettings, model: str) -> RequestSettings:
    """The settings with a number of tokens, for a model that does not take an effort."""
    provider, _, name = model.partition("/")
    budgeted = provider == "anthropic" and any(_is(name, known) for known in _BUDGETED)
    if not budgeted or not isinstance(settings.reasoning, str):
        return settings
    return settings.replace(reasoning=_BUDGETS[settings.reasoning])


def _is(name: str, known: str) -> bool:
    """Whether a name is a known one, perhaps with the date of a snapshot."""
    rest = name.removeprefix(known)
    dated = len(rest) == len("-20250929") and rest[1:].isdecimal()
    return not rest or (dated and begins(name, known))


def _check_secrets(settings: RequestSettings, redactor: Redactor) -> None:
    for text in (settings.headers, settings.body):
        if redactor.clean(text) != text:
            raise ConfigError(
                "The extra headers or body contain a secret.",
                hint="Refer to it in a header as {_secret:name}: settings are recorded.",
            )

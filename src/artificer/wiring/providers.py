"""From a name to what talks to that model."""

from __future__ import annotations

import os

from artificer.config import Config, ProviderConfig
from artificer.errors import ConfigError
from artificer.ports import Provider
from artificer.providers.dialects import RETURNS_REASONING, ChatDialect

BUILT_IN = ("anthropic", "openai", "openai-chat", "local", "scripted")
"""Providers that need no ``[providers.NAME]`` section."""


def split_model(model: str) -> tuple[str, str]:
    """Split ``provider/model``; the model's own name may hold slashes. Raises ConfigError."""
    provider, slash, name = model.partition("/")
    if not slash or not name:
        raise ConfigError(
            f"{model!r} does not name a provider and a model.",
            hint="Write it as provider/model, for example local/smollm2.",
        )
    return provider, name


def build_provider(name: str, config: Config, *, recorded: str | None = None) -> Provider:
    """Make the provider of that name. Its SDK is imported when it is first asked something.

    ``recorded`` is the wire of a run that goes on: what can be chosen there stays as it was.

    Raises:
        ConfigError: no provider has that name.
    """
    own = config.providers.get(name)
    if own is not None:
        return _configured(name, own, recorded)
    match name:
        case "anthropic":
            from artificer.providers.anthropic import Anthropic

            return Anthropic()
        case "openai":
            from artificer.providers.openai_responses import OpenAIResponses

            return OpenAIResponses()
        case "openai-chat":
            base_url = os.environ.get("OPENAI_BASE_URL")
            return _chat(name, base_url, recorded)
        case "local":
            from artificer.providers.local import Local
            from artificer.providers.local_fetch import model_path

            return Local(config.local_model or model_path(config.home))
        case "scripted":
            from artificer.providers.scripted import ScriptedProvider

            return ScriptedProvider([])
    known = ", ".join([*BUILT_IN, *config.providers])
    raise ConfigError(
        f"No provider is called {name!r}.",
        hint=f"Known: {known}. Others go into [providers.{name}] of artificer.toml.",
    )


def wire_of(provider: Provider) -> str:
    """How a provider maps requests, where that depends on the environment; else nothing."""
    from artificer.providers.sdk import SdkProvider

    return provider.wire if isinstance(provider, SdkProvider) else ""


def build_mapper(name: str, wire: str, config: Config) -> Provider:
    """Make a provider that maps requests as a recorded one did, wherever that one was.

    Raises:
        ConfigError: no provider has that name.
    """
    protocol, server, *_ = [*wire.split("/"), ""]
    base_url = None if server == "vendor" else "http://recorded.invalid"
    match protocol:
        case "messages":
            from artificer.providers.anthropic import Anthropic

            return Anthropic(name, base_url=base_url)
        case "responses":
            from artificer.providers.openai_responses import OpenAIResponses

            return OpenAIResponses(name, base_url=base_url)
        case "chat":
            return _chat(name, base_url, wire)
    return build_provider(name, config)


def _chat(
    name: str,
    base_url: str | None,
    recorded: str | None,
    *,
    key: str | None = None,
    returns_reasoning: bool = True,
) -> Provider:
    """A provider of Chat Completions; a ``recorded`` wire says whether reasoning is handed back."""
    from artificer.providers.openai_chat import OpenAIChat

    if recorded is not None:
        returns_reasoning = RETURNS_REASONING in recorded.split("/")
    dialect = None if base_url is None else ChatDialect(name, returns_reasoning=returns_reasoning)
    return OpenAIChat(name, base_url=base_url, key_variable=key, dialect=dialect)


def _configured(name: str, own: ProviderConfig, recorded: str | None) -> Provider:
    key = own.api_key_env
    match own.protocol:
        case "anthropic":
            from artificer.providers.anthropic import Anthropic

            return Anthropic(name, base_url=own.base_url, key_variable=key)
        case "openai":
            from artificer.providers.openai_responses import OpenAIResponses

            return OpenAIResponses(name, base_url=own.base_url, key_variable=key)
        case "openai-chat":
            kept = own.returns_reasoning
            return _chat(name, own.base_url, recorded, key=key, returns_reasoning=kept)


def choose_model(model: str | Provider | None, config: Config) -> tuple[Provider, str]:
    """The provider and the model that are named, or configured. Raises ConfigError for none."""
    if model is None:
        model = config.model
    if model is None:
        raise ConfigError(
            "No model was named.",
            hint="Name one with --model provider/model, $ARTIFICER_MODEL or artificer.toml; "
            "`artificer doctor` shows which answer here.",
        )
    if isinstance(model, str):
        name, model_name = split_model(model)
        return build_provider(name, config), model_name
    return model, model.name

"""From the name of a model to the provider that it is requested from."""

from __future__ import annotations

import os
from dataclasses import replace

from artificer.config import Config
from artificer.errors import ConfigError
from artificer.ports import Provider
from artificer.providers.registry import PROVIDERS, ProviderPlace, Wired

_PROTOCOLS = {"messages": "anthropic", "responses": "openai", "chat": "openai-chat"}
"""The kind of provider that speaks each protocol that a recorded wire begins with."""


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
    """Make the provider of that name. Its SDK is imported for its first request.

    ``recorded`` is the wire of a run that is resumed: what can be chosen there stays as it was.

    Raises:
        ConfigError: no provider has that name, or the package that adds it cannot be used.
    """
    own = config.providers.get(name)
    kind = PROVIDERS.get(own.protocol if own is not None else name)
    if kind is None:
        known = ", ".join([*PROVIDERS.names, *config.providers])
        raise ConfigError(
            f"No provider is called {name!r}.",
            hint=f"Known: {known}. Others go into [providers.{name}] of artificer.toml.",
        )
    place = ProviderPlace(
        name=name, home=config.home, recorded=recorded, local_model=config.local_model
    )
    if own is None:
        return kind.make(replace(place, base_url=os.environ.get(kind.url_variable)))
    return kind.make(
        replace(
            place,
            base_url=own.base_url,
            key_variable=own.api_key_env,
            returns_reasoning=own.returns_reasoning,
        )
    )


def wire_of(provider: Provider) -> str:
    """Return how a provider maps requests, where that depends on its server; else nothing."""
    return provider.wire if isinstance(provider, Wired) else ""


def build_mapper(name: str, wire: str, config: Config) -> Provider:
    """Make a provider that maps requests as a recorded one did, wherever that one was.

    Raises:
        ConfigError: no provider has that name.
    """
    protocol, server, *_ = [*wire.split("/"), ""]
    kind = PROVIDERS.get(_PROTOCOLS[protocol]) if protocol in _PROTOCOLS else None
    if kind is None:
        return build_provider(name, config)
    base_url = None if server == "vendor" else "http://recorded.invalid"
    return kind.make(ProviderPlace(name=name, home=config.home, base_url=base_url, recorded=wire))


def choose_model(model: str | Provider | None, config: Config) -> tuple[Provider, str]:
    """Return the provider and the model that are named, or configured. Raises ConfigError."""
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

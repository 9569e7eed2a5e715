"""The providers of a world: each is made once, and its connections are closed with the world."""

from __future__ import annotations

import os
from contextlib import suppress
from weakref import WeakValueDictionary

from msgspec import structs

from artificer.config import Config
from artificer.core.spec import RunSpec
from artificer.errors import ConfigError
from artificer.ports import Provider
from artificer.providers.registry import PROTOCOLS, PROVIDERS, ProviderPlace, Wired

_RECORDED_URL = "http://recorded.invalid"
"""The base URL of a provider that only maps the requests of a recorded run."""


class ProviderPool:
    """Makes providers from their names, and keeps them until the world is closed."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._made: dict[tuple[str, str | None], Provider] = {}
        self._passed: WeakValueDictionary[int, Provider] = WeakValueDictionary()

    def choose(self, model: str | Provider | None) -> tuple[Provider, str]:
        """Return the provider and the model that are named, or configured.

        A provider that the caller passes is closed with the world too.

        Raises:
            ConfigError: no model is named, or its provider is unknown.
        """
        model = self._config.model if model is None else model
        if model is None:
            raise ConfigError(
                "No model was named.",
                hint="Name one with --model provider/model, $ARTIFICER_MODEL or artificer.toml; "
                "`artificer doctor` shows which models answer.",
            )
        if isinstance(model, str):
            name, model_name = split_model(model)
            return self.get(name), model_name
        return self.adopt(model), model.name

    def get(self, name: str, *, recorded: str | None = None) -> Provider:
        """Return the provider of that name. Its SDK is imported with its first request.

        ``recorded`` is the wire of a run that is resumed: whatever can be chosen stays as it was.

        Raises:
            ConfigError: no provider has that name.
        """
        key = (name, recorded)
        if key not in self._made:
            self._made[key] = _make(name, self._config, recorded)
        return self._made[key]

    def adopt(self, provider: Provider) -> Provider:
        """Close a provider with the world, if it still exists then."""
        with suppress(TypeError):  # not every object can be referred to weakly
            self._passed[id(provider)] = provider
        return provider

    async def aclose(self) -> None:
        """Close the connections of all providers."""
        providers = [*self._made.values(), *self._passed.values()]
        self._made.clear()
        for provider in providers:
            await provider.aclose()


def split_model(model: str) -> tuple[str, str]:
    """Split ``provider/model``; the model's own name may hold slashes. Raises ConfigError."""
    provider, slash, name = model.partition("/")
    if not slash or not name:
        raise ConfigError(
            f"{model!r} does not name a provider and a model.",
            hint="Write it as provider/model, for example local/smollm2.",
        )
    return provider, name


def wire_of(provider: Provider) -> str:
    """Return how a provider maps requests, where that depends on the environment; else ''."""
    return provider.wire if isinstance(provider, Wired) else ""


def build_mapper(name: str, wire: str, config: Config) -> Provider:
    """Make a provider that maps requests as a recorded one did, wherever that one was.

    Raises:
        ConfigError: no provider has that name.
    """
    protocol, server, *_ = [*wire.split("/"), ""]
    kind = PROVIDERS.get(PROTOCOLS.get(protocol, protocol)) if protocol else None
    if kind is None:
        return _make(name, config, None)
    base_url = None if server == "vendor" else _RECORDED_URL
    return kind.make(ProviderPlace(name=name, home=config.home, base_url=base_url, recorded=wire))


def mapper_of(spec: RunSpec | None, config: Config) -> Provider | None:
    """Return what maps requests as a recorded run's provider did; None where it is unknown here.

    A replay then says that requests were not recomputed.
    """
    try:
        return build_mapper(spec.provider, spec.wire, config) if spec else None
    except ConfigError:
        return None


def _make(name: str, config: Config, recorded: str | None) -> Provider:
    own = config.providers.get(name)
    kind = PROVIDERS.get(name if own is None else own.protocol)
    if kind is None:
        known = ", ".join([*PROVIDERS.names, *config.providers])
        raise ConfigError(
            f"Unknown provider: {name!r}.",
            hint=f"Known: {known}. Configure others in [providers.{name}] of artificer.toml.",
        )
    place = ProviderPlace(
        name=name, home=config.home, recorded=recorded, local_model=config.local_model
    )
    if own is None:
        return kind.make(structs.replace(place, base_url=os.environ.get(kind.url_variable)))
    return kind.make(
        structs.replace(
            place,
            base_url=own.base_url,
            key_variable=own.api_key_env,
            returns_reasoning=own.returns_reasoning,
            options=own.options,
        )
    )

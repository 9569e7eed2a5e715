"""The providers of a world: each is made once, and its connections are closed with the world."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from weakref import WeakValueDictionary

from msgspec import structs

from artificer.config import Config, ProviderConfig
from artificer.core.spec import Fallback, RunSpec
from artificer.errors import AuthorError, ConfigError
from artificer.plugins import lacking, package_of
from artificer.ports import Provider
from artificer.providers.chain import chained
from artificer.providers.dialects import RETURNS_REASONING
from artificer.providers.profiles import PROTOCOL, profiles, provider_of
from artificer.providers.registry import (
    FOR_PROGRAMS,
    PROTOCOLS,
    PROVIDERS,
    Limited,
    ProviderKind,
    ProviderPlace,
    Wired,
)
from artificer.secrets.resolver import ENVIRONMENT, Secrets
from artificer.values.arguments import listed, offers, refuse_server
from artificer.values.nearest import nearest

Models = str | Provider | Sequence[str | Provider]
"""A model, or several: the first one, then its fallbacks."""

_RECORDED_URL = "http://recorded.invalid"
"""The base URL of a provider that only maps the requests of a recorded run."""


class ProviderPool:
    """Makes providers from their names, and keeps them until the world is closed.

    ``own`` are those of the program by their names, which come before all others.
    """

    def __init__(self, config: Config, own: Mapping[str, Provider], secrets: Secrets) -> None:
        """``secrets`` finds their keys."""
        self._config = config
        self._secrets = secrets
        self.own = own
        self._made: dict[tuple[str, str | None], Provider] = {}
        self._passed: WeakValueDictionary[int, Provider] = WeakValueDictionary()

    def choose_all(self, models: Models | None) -> list[tuple[Provider, str]]:
        """Return the providers and models that are named, or configured: the first, its fallbacks.

        A provider that the caller passes is closed with the world too.

        Raises:
            ConfigError: no model is named, its provider is unknown, or has no such model.
        """
        named = each_model(self._config.model if models is None else models)
        if not named:
            raise ConfigError(
                "No model is configured.",
                hint='Name one: Agent("provider/model"), --model, $ARTIFICER_MODEL or model = in '
                "artificer.toml; `artificer models` lists them.",
            )
        return list(map(self.choose, named))

    def choose(self, model: str | Provider) -> tuple[Provider, str]:
        """Return the provider and the model of one name, as `choose_all` does."""
        if isinstance(model, str):
            name, model_name = split_model(model)
            provider = self.get(name)
            if isinstance(provider, Limited):
                provider.check_model(model_name)
            return provider, model_name
        return self.adopt(model), model.name

    def get(self, name: str, *, recorded: str | None = None) -> Provider:
        """Return the provider of that name. Its SDK is imported with its first request.

        ``recorded`` is the wire of a run that is resumed: whatever can be chosen stays as it was.

        Raises:
            ConfigError: no provider has that name.
        """
        if name in self.own:
            return self.own[name]
        key = (name, recorded)
        if key not in self._made:
            self._made[key] = _make(name, self._config, recorded, self.own, self._secrets)
        return self._made[key]

    def adopt(self, provider: Provider) -> Provider:
        """Close a provider with the world, if it still exists then."""
        with suppress(TypeError):  # not every object can be referred to weakly
            self._passed[id(provider)] = provider
        return provider

    async def aclose(self) -> None:
        """Close the connections of all providers, even if one of them raises."""
        providers = [*self._made.values(), *self.own.values(), *self._passed.values()]
        self._made.clear()
        async with AsyncExitStack() as closing:
            for provider in providers:
                closing.push_async_callback(provider.aclose)


def by_name(providers: Iterable[Provider]) -> Mapping[str, Provider]:
    """Return providers by their names. Raises AuthorError for what a model cannot be named with."""
    found: dict[str, Provider] = {}
    for provider in listed("providers", providers, "a world"):
        name = getattr(provider, "name", None)
        if not (isinstance(name, str) and offers(provider, "generate")):
            raise AuthorError(
                f"{provider!r} is not a provider.",
                hint="Pass objects with `name`, `prepare`, `generate` and `aclose`; "
                "docs/guides/plugins.md has one.",
            )
        if not name or "/" in name:
            raise AuthorError(
                f"{name!r} cannot be the name of a provider.",
                hint="It is the word before the slash in provider/model.",
            )
        if found.setdefault(name, provider) is not provider:
            raise AuthorError(
                f"Two providers have the name {name!r}.", hint="Give each its own name."
            )
    return found


def each_model(models: Models | None) -> tuple[str | Provider, ...]:
    """Return the models that are named: one, several, or none."""
    if models is None:
        return ()
    return (
        tuple(models) if isinstance(models, Sequence) and not isinstance(models, str) else (models,)
    )


def split_model(model: str) -> tuple[str, str]:
    """Split ``provider/model``; the model's own name may hold slashes. Raises ConfigError."""
    provider, slash, name = model.partition("/")
    meant = _with_slash(model) if ":" in provider else None
    if meant or not slash or not name:
        meant = meant or _of_known_vendor(model)
        hint = "Write it as provider/model, for example local/smollm2."
        raise ConfigError(
            f"{model!r} does not name a provider and a model.",
            hint=f"Did you mean {meant}?" if meant else hint,
        )
    return provider, name


def _with_slash(model: str) -> str | None:
    """``openai:gpt-5``, as other libraries write it, with a slash; None for an unknown provider."""
    vendor, _, name = model.partition(":")
    return f"{vendor}/{name}" if name and vendor in (*PROVIDERS.names, *profiles()) else None


def _of_known_vendor(model: str) -> str | None:
    vendor = provider_of(model)
    return f"{vendor}/{model}" if vendor else None


def wire_of(provider: Provider) -> str:
    """Return how a provider maps requests, where that depends on the environment; else ''."""
    return provider.wire if isinstance(provider, Wired) else ""


def build_mapper(name: str, wire: str, config: Config, own: Mapping[str, Provider]) -> Provider:
    """Return a provider that maps requests as a recorded one did, wherever that one was.

    Raises:
        ConfigError: no provider has that name.
    """
    if name in own and wire_of(own[name]) == wire:
        return own[name]
    protocol, server, *_ = [*wire.split("/"), ""]
    kind = PROVIDERS.get(PROTOCOLS.get(protocol, protocol)) if protocol else None
    if kind is None:
        return _make(name, config, None, own)
    base_url = None if server == "vendor" else _RECORDED_URL
    place = ProviderPlace(name=name, home=config.home, base_url=base_url, recorded=wire)
    return made(kind, place)


def made(kind: ProviderKind, place: ProviderPlace) -> Provider:
    """Return the provider that a kind makes, if it has the name that runs record and look for.

    Raises:
        ConfigError: it has another: a resumed run would ask another server, or none.
    """
    try:
        found = kind.make(place)
    except SystemExit as error:
        raise _faulty(kind, place, "was not created: its package raised SystemExit.") from error
    if missing := lacking(found, ("name", "prepare", "generate", "aclose")):
        what = f"is an object of type {type(found).__name__}, not a Provider: it has no "
        raise _faulty(kind, place, f"{what}{', '.join(missing)}.")
    if found.name != place.name:
        raise ConfigError(
            f"The provider created for {place.name!r} is called {found.name!r}.",
            hint="Its package must give it the name from its ProviderPlace.",
        )
    return found


def _faulty(kind: ProviderKind, place: ProviderPlace, what: str) -> ConfigError:
    package = package_of(kind.make)
    return ConfigError(
        f"The provider created for {place.name!r} {what}",
        hint=f"This is a bug in {package or 'its package'}: report it to its authors; update or "
        "uninstall it.",
    )


def mapper_of(spec: RunSpec | None, config: Config, own: Mapping[str, Provider]) -> Provider | None:
    """Return what maps requests as a recorded run's provider did; None if it is unknown here.

    ``own`` are the providers of the program, by their names. Without one, a replay says that
    requests were not recomputed.
    """
    if spec is None:
        return None
    try:
        models: list[RunSpec | Fallback] = [spec, *spec.fallbacks]
        return chained([build_mapper(m.provider, m.wire, config, own) for m in models])
    except ConfigError:
        return None


def _make(
    name: str,
    config: Config,
    recorded: str | None,
    own: Iterable[str],
    secrets: Secrets = ENVIRONMENT,
) -> Provider:
    place = ProviderPlace(
        name=name,
        home=config.home,
        recorded=recorded,
        local_model=config.local_model,
        secrets=secrets,
    )
    if configured := config.providers.get(name):
        kind = _kind(configured.protocol, config, own)
        return made(kind, _configured_place(place, configured))
    if profile := profiles().get(name):
        place = structs.replace(
            place,
            base_url=profile.url(name, os.environ),
            key_variable=profile.key,
            key_optional=profile.key_optional,
            features=profile.features,
        )
        return made(_kind(PROTOCOL, config, own), place)
    kind = _kind(name, config, own)
    return made(kind, structs.replace(place, base_url=_server_of(kind.url_variable)))


def _server_of(variable: str) -> str | None:
    """The server that a variable of the environment names. Raises ConfigError if it is no URL."""
    url = os.environ.get(variable, "").strip() or None
    if url and (fault := refuse_server(url)):
        raise ConfigError(f"The variable {variable} {fault}.", hint=f"export {variable}=https://…")
    return url


def _kind(name: str, config: Config, own: Iterable[str]) -> ProviderKind:
    """The kind of that name. Raises ConfigError with what may have been meant."""
    kind = PROVIDERS.get(name)
    if kind is not None:
        return kind
    built_in = [known for known in PROVIDERS.names if known not in FOR_PROGRAMS]
    known = [*own, *config.providers, *built_in, *profiles()]
    raise ConfigError(
        f"Unknown provider: {name!r}.",
        hint=f"{nearest(name, known)} Configure others in [providers.{name}] of artificer.toml.",
    )


def _configured_place(place: ProviderPlace, own: ProviderConfig) -> ProviderPlace:
    """The settings of ``[providers.NAME]``; where NAME is a profile, its features stay."""
    profile = profiles().get(place.name)
    features: tuple[str, ...] = profile.features if profile else (RETURNS_REASONING,)
    if not own.returns_reasoning:
        features = tuple(f for f in features if f != RETURNS_REASONING)
    return structs.replace(
        place,
        base_url=own.base_url,
        key_variable=own.api_key_env,
        features=features,
        options=own.options,
    )

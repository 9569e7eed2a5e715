"""The providers that a model can be named with here, their servers and their keys."""

from __future__ import annotations

import os

from msgspec import Struct, structs

from artificer.config import Config
from artificer.errors import ConfigError
from artificer.providers.profiles import PROTOCOL, profiles
from artificer.wiring.secrets import VENDOR_KEYS


class KnownProvider(Struct, frozen=True, kw_only=True):
    """A provider that is built in or configured.

    ``key_variable`` is the variable of its API key, empty where it needs none, ``has_key`` whether
    that is set, ``ready`` whether a request could be sent: a key is there or not needed, and the
    address is known. ``base_url`` is empty for a vendor's own SDK, and where it is not known.
    """

    name: str
    protocol: str
    base_url: str = ""
    key_variable: str = ""
    has_key: bool = False
    ready: bool = True
    configured: bool = False


def known_providers(config: Config) -> tuple[KnownProvider, ...]:
    """Return the configured providers, then the built-in ones. Nothing is imported or asked."""
    own = [
        _known(name, own.protocol, own.base_url or "", own.api_key_env or "", configured=True)
        for name, own in config.providers.items()
    ]
    vendors = [_known(name, name, "", key) for name, key in VENDOR_KEYS.items()]
    others = []
    for name, profile in profiles().items():
        try:
            url = profile.url(name, os.environ)
        except ConfigError:
            url = ""
        entry = _known(name, PROTOCOL, url, profile.key, optional=profile.key_optional)
        others.append(entry if url else _not_ready(entry))
    local = KnownProvider(name="local", protocol="local")
    named = config.providers.keys()
    return (*own, *(entry for entry in [*vendors, *others, local] if entry.name not in named))


def key_variable(config: Config, name: str) -> str:
    """Return the variable of the environment that holds a provider's key; empty if it has none."""
    known = (known for known in known_providers(config) if known.name == name)
    return next((found.key_variable for found in known), "")


def _known(
    name: str,
    protocol: str,
    url: str,
    key: str,
    *,
    optional: bool = False,
    configured: bool = False,
) -> KnownProvider:
    has_key = bool(key and os.environ.get(key))
    return KnownProvider(
        name=name,
        protocol=protocol,
        base_url=url,
        key_variable=key,
        has_key=has_key,
        ready=has_key or optional or not key,
        configured=configured,
    )


def _not_ready(entry: KnownProvider) -> KnownProvider:
    return structs.replace(entry, ready=False)

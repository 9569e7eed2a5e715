"""The providers that a model can be named with here, their servers and their keys."""

from __future__ import annotations

import os
from functools import partial

from msgspec import Struct, structs

from artificer.config import Config
from artificer.errors import ConfigError
from artificer.providers.profiles import PROTOCOL, profiles
from artificer.secrets.resolver import Secrets
from artificer.wiring.secrets import VENDOR_KEYS, opened_secrets


class KnownProvider(Struct, frozen=True, kw_only=True):
    """A provider that is built in or configured.

    ``key_variable`` is the variable of its API key, empty if it needs none, ``key_place`` where
    a key was found, ``ready`` whether a request could be sent: a key is there or not needed, and
    the address is known. ``base_url`` is empty for a vendor's own SDK, and where it is not known.
    """

    name: str
    protocol: str
    base_url: str = ""
    key_variable: str = ""
    key_place: str = ""
    ready: bool = True
    configured: bool = False


def known_providers(config: Config) -> tuple[KnownProvider, ...]:
    """Return the configured providers, then the built-in ones. No provider is imported or asked.

    It waits for sources of secrets that are not local.
    """
    known = partial(_known, opened_secrets(config))
    own = [
        known(name, own.protocol, own.base_url or "", own.api_key_env or "", configured=True)
        for name, own in config.providers.items()
    ]
    vendors = [known(name, name, "", key) for name, key in VENDOR_KEYS.items()]
    others = []
    for name, profile in profiles().items():
        try:
            url = profile.url(name, os.environ)
        except ConfigError:
            url = ""
        entry = known(name, PROTOCOL, url, profile.key, optional=profile.key_optional)
        others.append(entry if url else _not_ready(entry))
    local = KnownProvider(name="local", protocol="local")
    named = config.providers.keys()
    return (*own, *(entry for entry in [*vendors, *others, local] if entry.name not in named))


def key_variable(config: Config, name: str) -> str:
    """Return the variable of the environment that holds a provider's key; empty if it has none."""
    own, profile = config.providers.get(name), profiles().get(name)
    if own is not None:
        return own.api_key_env or ""
    return profile.key if profile else VENDOR_KEYS.get(name, "")


def _known(
    secrets: Secrets,
    name: str,
    protocol: str,
    url: str,
    key: str,
    *,
    optional: bool = False,
    configured: bool = False,
) -> KnownProvider:
    key_place = secrets.place_of_key(key) if key else ""
    return KnownProvider(
        name=name,
        protocol=protocol,
        base_url=url,
        key_variable=key,
        key_place=key_place,
        ready=bool(key_place) or optional or not key,
        configured=configured,
    )


def _not_ready(entry: KnownProvider) -> KnownProvider:
    return structs.replace(entry, ready=False)

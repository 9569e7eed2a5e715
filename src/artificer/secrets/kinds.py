"""The kinds of secret sources, and opening those that are configured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

from artificer.errors import ConfigError
from artificer.plugins import Registry
from artificer.ports import SecretSource, SecretSourceKind
from artificer.secrets.environment import Variables
from artificer.secrets.resolver import ENVIRONMENT, Secrets

DEFAULT = ("env",)
"""The setting ``secrets`` if there is none."""

KINDS: Registry[SecretSourceKind] = Registry(
    "artificer.secrets",
    SecretSourceKind,  # type: ignore[type-abstract]  # a protocol that is checked at run time
    {
        "env": "artificer.secrets.environment:ENVIRONMENT",
        "files": "artificer.secrets.files:FILES",
        "vault": "artificer.secrets.vault:VAULT",
    },
)
"""The kinds of sources, by the word before the first colon of an entry of ``secrets``."""


@lru_cache(maxsize=64)
def secrets_of(settings: tuple[str, ...]) -> Secrets:
    """Return the secrets of the setting ``secrets``, the same for all of this process.

    Raises ConfigError for a source that is not known or cannot be used.
    """
    return ENVIRONMENT if settings == DEFAULT else secrets_with((), settings)


def secrets_with(own: Sequence[SecretSource], settings: tuple[str, ...]) -> Secrets:
    """Return the secrets of a program's own sources, then those of the setting ``secrets``."""
    sources = [_opened(setting) for setting in settings]
    variables: SecretSource = Variables(os.environ)
    keys = [variables if s == "env" else found for s, found in zip(settings, sources, strict=True)]
    return Secrets([*own, *sources], [*own, *keys])


def _opened(setting: str) -> SecretSource:
    name = setting.partition(":")[0]
    kind = KINDS.get(name)
    if kind is None:
        raise ConfigError(
            f"Unknown source of secrets: {name!r}. Known: {', '.join(KINDS.names)}.",
            hint="Correct the setting secrets, or install the package that adds it.",
        )
    with KINDS.errors_of(name, "it was opened"):
        found = kind.open(setting)
    KINDS.made_by(name, found, "SecretSource", ("local", "resolve", "place", "at_hand"))
    return found

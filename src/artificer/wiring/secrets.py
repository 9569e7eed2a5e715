"""The secrets of a world: where they are looked for, and what takes them out of texts."""

from __future__ import annotations

import os
from collections.abc import Iterable

from artificer.backends.secrets.forms import MIN_ENCODED
from artificer.backends.secrets.names import well_known
from artificer.backends.secrets.redaction import MIN_HIDDEN, Redactor, all_secrets
from artificer.config import Config
from artificer.errors import AuthorError
from artificer.ports import SecretSource
from artificer.providers.profiles import profiles
from artificer.secrets.kinds import secrets_of, secrets_with
from artificer.secrets.resolver import Secrets

VENDOR_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The variables in which the SDKs look for their vendors' keys."""


def opened_secrets(config: Config, own: tuple[SecretSource, ...] = ()) -> Secrets:
    """Return the secrets of a program's own sources and of the settings. Raises ConfigError."""
    return secrets_with(own, config.secrets) if own else secrets_of(config.secrets)


def checked_sources(sources: Iterable[SecretSource]) -> tuple[SecretSource, ...]:
    """Return sources of secrets. Raises AuthorError for what is none."""
    found = (sources,) if isinstance(sources, (SecretSource, str)) else tuple(sources)
    for source in found:
        if not isinstance(source, SecretSource):
            raise AuthorError(
                f"An object of type {type(source).__name__} is not a source of secrets.",
                hint="Pass objects with `local`, `resolve`, `place` and `at_hand`, as "
                "artificer.ports.SecretSource has them; names of sources are settings.",
            )
    return found


def redactor_of_everything(config: Config, secrets: Secrets | None = None) -> Redactor:
    """Return what takes every secret of this process out of what a run reads of itself."""
    return _redactor(config, secrets, MIN_HIDDEN, names=True)


def redactor_of(config: Config, secrets: Secrets) -> Redactor:
    """Return what removes the secrets of this process from the results of tools.

    The model works with those results: a short secret would be found where it is not one, and so
    would the name with which a browser logs in, because pages greet with it.
    """
    return _redactor(config, secrets, MIN_ENCODED, names=False)


def _redactor(config: Config, secrets: Secrets | None, shortest: int, *, names: bool) -> Redactor:
    def hides(name: str, value: str) -> bool:
        return len(value) >= shortest and (names or not name.upper().endswith("_USERNAME"))

    keys = [name for own in config.providers.values() if (name := own.api_key_env)]
    keys += [profile.key for profile in profiles().values()]
    ours = well_known(os.environ) | all_secrets(os.environ, [*VENDOR_KEYS.values(), *keys])
    redactor = Redactor(ours if secrets is None else secrets.at_hand() | ours, hides)
    if secrets is not None:
        secrets.teach(redactor)
    return redactor

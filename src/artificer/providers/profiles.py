"""Providers that are known by name, from ``profiles.toml``: their servers, keys and differences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

import rtoml
from msgspec import Struct, convert

from artificer import providers
from artificer.errors import ConfigError
from artificer.system.files import packaged

PROTOCOL = "openai-chat"
"""The kind of provider that all profiles are of."""


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server of Chat Completions that is known by name.

    ``features`` are its differences, as wires record them; ``families`` are the beginnings of its
    models' names.
    """

    features: tuple[str, ...]
    key: str
    key_optional: bool = False
    base_url: str = ""
    url_variable: str = ""
    url_path: str = ""
    families: tuple[str, ...] = ()

    def url(self, name: str, environment: Mapping[str, str]) -> str:
        """Return the base URL of the server. Raises ConfigError if none is known."""
        set_here = environment.get(self.url_variable, "").strip()
        if not set_here and not self.base_url:
            raise ConfigError(
                f"The provider {name!r} has no address here.",
                hint=f"Set the environment variable {self.url_variable} to the URL of your server.",
            )
        return _completed(set_here, self.url_path) if set_here else self.base_url


def _completed(address: str, path: str) -> str:
    """Return an address as a base URL: Ollama's variable holds ``host:port``."""
    url = address if "://" in address else f"http://{address}"
    url = url.replace("//0.0.0.0", "//localhost")  # where it listens, not where it is
    return url if urlsplit(url).path.strip("/") else url.rstrip("/") + path


@lru_cache(maxsize=1)
def profiles() -> Mapping[str, Profile]:
    """Return all profiles by name."""
    data = rtoml.loads(packaged(providers, "profiles.toml"))
    return {name: convert(entry, Profile) for name, entry in data.items()}


_FAMILIES = {
    "gpt-": "openai",
    "chatgpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "smollm": "local",
}


def provider_of(model: str) -> str | None:
    """Return the provider whose models have names like this one, or None: ``gpt-5`` is OpenAI's."""
    families = dict(_FAMILIES)
    for name, profile in profiles().items():
        families |= dict.fromkeys(profile.families, name)
    found = [family for family in families if model.lower().startswith(family)]
    return families[max(found, key=len)] if found else None

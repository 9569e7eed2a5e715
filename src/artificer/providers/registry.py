"""The kinds of providers: those built in, and those of installed packages.

An installed package adds one through the entry-point group ``artificer.providers``; the name of
the entry is the ``provider`` of ``provider/model``. ``examples/plugin`` is a package that does so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from artificer.contracts.model_settings import RequestSettings
from artificer.plugins import Registry
from artificer.ports import Provider, SecretFinder
from artificer.providers.dialects import RETURNS_REASONING
from artificer.secrets.resolver import ENVIRONMENT
from artificer.values.base import JsonValue


class ProviderPlace(Struct, frozen=True, kw_only=True):
    """The settings that a provider is made with.

    ``name`` is the one that runs record. ``base_url`` is its server's (default: the vendor's), and
    ``key_variable`` the variable of the environment that holds the key, which is required unless
    it is ``key_optional``. ``features`` are the server's differences from others of its protocol.
    ``recorded`` is the wire of a run that is resumed: what can be chosen there stays as it was.
    ``local_model`` is a file with a model, ``home`` the folder in which models are kept.
    ``options`` are those of ``[providers.NAME.options]``, for kinds that have any. ``secrets``
    finds the key, and what extra headers refer to.
    """

    name: str
    home: Path
    base_url: str | None = None
    key_variable: str | None = None
    recorded: str | None = None
    key_optional: bool = False
    features: tuple[str, ...] = (RETURNS_REASONING,)
    local_model: Path | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    secrets: SecretFinder = ENVIRONMENT


class ProviderKind(Struct, frozen=True, kw_only=True):
    """A kind of provider. ``make`` returns one; it imports an SDK when it makes a request.

    ``url_variable`` is the variable of the environment that names another server than the vendor's.
    """

    make: Callable[[ProviderPlace], Provider]
    url_variable: str = ""


@runtime_checkable
class Wired(Protocol):
    """A provider whose mapping of requests depends on its server and settings."""

    @property
    def wire(self) -> str:
        """The mapping, as a run records it."""


@runtime_checkable
class Selective(Protocol):
    """A provider that does not take every setting."""

    def refused(self, settings: RequestSettings) -> tuple[str, ...]:
        """Return the names of the settings that it has no member for."""


@runtime_checkable
class Limited(Protocol):
    """A provider that knows all its models."""

    def check_model(self, name: str) -> None:
        """Raise ConfigError if there is no model of this name."""


PROTOCOLS = {"messages": "anthropic", "responses": "openai", "chat": "openai-chat"}
"""The kind of provider that speaks each protocol that a recorded wire begins with."""

PROVIDERS = Registry(
    "artificer.providers",
    ProviderKind,
    {
        "anthropic": "artificer.providers.anthropic:PROVIDER",
        "openai": "artificer.providers.openai_responses:PROVIDER",
        "openai-chat": "artificer.providers.openai_chat:PROVIDER",
        "local": "artificer.providers.local:PROVIDER",
        "scripted": "artificer.providers.scripted:PROVIDER",
        "caller": "artificer.providers.caller:PROVIDER",
    },
)

FOR_PROGRAMS = ("scripted", "caller")
"""Built-in providers that answer nobody by themselves: programs pass them as objects."""

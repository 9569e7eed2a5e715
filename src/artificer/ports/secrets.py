"""The port to secrets: the places that hold the values of references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from artificer.values.base import JsonValue


@runtime_checkable
class SecretSource(Protocol):
    """A place with secrets by their names. Names are ``\\w+``, values are texts that are not empty.

    Its methods are called from several threads at once, and each comes back within seconds. What
    cannot be asked raises OperatorError, whose message holds no secret.
    """

    @property
    def local(self) -> bool:
        """Whether it answers at once. One that does not is called in a thread, and its answers are
        cached for a minute.
        """

    def resolve(self, name: str) -> str | None:
        """Return the value of a secret, or None if there is none of that name."""

    def place(self, name: str) -> str:
        """Return where a secret is looked up, for people: ``/run/secrets/name``."""

    def at_hand(self) -> Mapping[str, str]:
        """Return the values that can be read without asking for each, by name.

        They are taken out of all texts of a run from its start; others once they are resolved. A
        name that is not ``\\w+``, such as that of the source's own token, is never resolved.
        """


class FoundSecrets(Struct, frozen=True):
    """The values of secrets by name, if all were found.

    Otherwise ``name`` is a missing one, ``missing`` says so and where it was looked up, as the
    beginning of a sentence, and ``hint`` says what to do. ``unknown`` means that a source is
    unavailable and may answer later.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    missing: str = ""
    hint: str = ""
    unknown: bool = False

    def __repr__(self) -> str:
        """Show no value."""
        return f"FoundSecrets({', '.join(self.values)}; {self.missing})"


class SecretFinder(Protocol):
    """Finds the values of secrets for executors and providers, in any source.

    A value is redacted in all texts of the run as soon as it is found.
    """

    @property
    def local(self) -> bool:
        """Whether all sources answer at once."""

    async def found(self, names: Iterable[str], seconds: float = 30.0) -> FoundSecrets:
        """Return the secrets of references, within a time limit."""

    def find_key(self, variable: str) -> FoundSecrets:
        """Return a provider's key, by the name of its variable; waits for the source."""

    async def found_key(self, variable: str) -> FoundSecrets:
        """Return the same without blocking the event loop."""


class SecretCleaner(Protocol):
    """Redacts secrets in stored texts, in each form in which a request may carry them."""

    @property
    def longest(self) -> int:
        """Length of the longest form: this many characters may be missing where a text was cut."""

    def clean(self, text: str) -> str:
        """Return the text without secrets."""

    def clean_bytes(self, data: bytes) -> bytes:
        """Return bytes without them, whatever else they are."""

    def clean_value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without them, in names and in texts."""


@runtime_checkable
class NeedingSecrets(Protocol):
    """An executor with tools that need secrets, which are looked up before a run starts."""

    def needed_secrets(self, tool: str) -> Iterable[str]:
        """Return the names of the secrets that every call of a tool needs."""


@runtime_checkable
class NeedingKey(Protocol):
    """A provider that needs a key, which is looked up before a run starts."""

    async def require_key(self) -> None:
        """Raise ConfigError if there is none."""


@runtime_checkable
class SecretSourceKind(Protocol):
    """A kind of secret source, offered in the entry-point group ``artificer.secrets``."""

    def open(self, setting: str) -> SecretSource:
        """Return the source of a setting such as ``vault:https://…``. Sends no request yet.

        Raises ConfigError if it cannot be used.
        """

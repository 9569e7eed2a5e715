"""A provider's server and its key."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from artificer.ports import FoundSecrets, SecretFinder
from artificer.providers.failures import failure
from artificer.secrets.resolver import ENVIRONMENT
from artificer.values.model import ModelFailure


@dataclass(frozen=True)
class Endpoint:
    """The server of requests, and the key for it.

    ``vendor`` is the prefix of the provider's own environment variables. The key is ``api_key``, or
    what ``secrets`` has for ``key_variable`` at the time of a request, which must be set unless it
    is ``key_optional``. Without both, the vendor's key is used, but only for the vendor itself or
    the base URL in the vendor's environment variable: it must not leak to another server.
    """

    vendor: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_variable: str | None = None

    key_optional: bool = False
    secrets: SecretFinder = ENVIRONMENT

    def find(self) -> FoundSecrets:
        """Return the key under the name of its variable, or why a request would fail without."""
        wanted = not self.api_key and self._variable
        return self._judged(self.secrets.find_key(wanted) if wanted else self._passed())

    async def found(self) -> FoundSecrets:
        """Return the same, and let others work meanwhile."""
        wanted = not self.api_key and self._variable
        return self._judged(await self.secrets.found_key(wanted) if wanted else self._passed())

    async def key(self) -> str | ModelFailure:
        """Return the key. A foreign server may not need one; the vendor always does."""
        found = await self.found()
        if found.missing:
            return lacking("There is no API key", found)
        return self.api_key or found.values.get(self._variable) or "none"

    def _passed(self) -> FoundSecrets:
        return FoundSecrets({"api_key": self.api_key} if self.api_key else {})

    def _judged(self, found: FoundSecrets) -> FoundSecrets:
        required = self.base_url is None or (self.key_variable and not self.key_optional)
        return sendable(found) if required or not found.missing else FoundSecrets()

    @property
    def _variable(self) -> str:
        """The variable that holds the key, or an empty text."""
        if self.key_variable is not None:
            return self.key_variable
        own = self.base_url in (None, os.environ.get(f"{self.vendor}_BASE_URL"))
        return f"{self.vendor}_API_KEY" if own else ""


def sendable(found: FoundSecrets) -> FoundSecrets:
    """Return the secrets, or which of them no header can hold (RFC 9110, 5.5), and why.

    An SDK would report that its connection or the server's reply is broken.
    """
    for name, value in found.values.items():
        odd = next((c for c in value if not (c.isascii() and c.isprintable())), "")
        if odd or value != value.strip():
            what = f"the character U+{ord(odd):04X}" if odd else "a space at its beginning or end"
            return FoundSecrets(
                name=name,
                missing=f"{name} holds {what}, which cannot be sent in a header",
                hint="Set it again, without line ends and spaces, and not as a placeholder like ….",
            )
    return found


def lacking(what: str, found: FoundSecrets) -> ModelFailure:
    """Return the failure of a request without its secret. A vault that is away comes back."""
    return failure("unavailable" if found.unknown else "auth", f"{what}: {found.missing}.")

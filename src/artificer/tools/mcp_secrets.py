"""The secrets of one connection to an MCP server: put into its texts, taken out of its answers."""

from __future__ import annotations

from collections.abc import Mapping

from artificer.contracts.http.template import parse_parts
from artificer.errors import ConfigError
from artificer.tools.secrets import PREFIXES, Redactor, find_secrets


class ServerSecrets:
    """``redactor`` knows those that were put in, and those that the connection brought."""

    def __init__(self, server: str, environment: Mapping[str, str]) -> None:
        self._server = server
        self._environment = environment
        self._known: dict[str, str] = {}
        self.redactor = Redactor({})

    def fill(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Texts with their secrets. Raises ConfigError for one that is not set."""
        parts = {name: parse_parts(text) for name, text in texts.items()}
        names = {p.secret for pieces in parts.values() for p in pieces if p.secret}
        secrets, missing = find_secrets(names, self._environment)
        if missing:
            raise ConfigError(
                f"The MCP server {self._server!r} needs the secret {missing[0]!r}.",
                hint=f"Set {PREFIXES[0]}{missing[0].upper()}.",
            )
        self._known |= secrets
        self.redactor = Redactor(self._known)
        return {
            name: "".join(secrets[p.secret] if p.secret else p.text for p in pieces)
            for name, pieces in parts.items()
        }

    def learn(self, name: str, secret: str) -> None:
        """Take one more out of what the server answers."""
        self._known[name] = secret
        self.redactor = Redactor(self._known)

"""The secrets of one connection to an MCP server: put into its texts, taken out of its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from artificer.backends.http.spec.template import parse_parts
from artificer.backends.secrets.forms import MIN_ENCODED
from artificer.backends.secrets.redaction import Redactor
from artificer.contracts.secret_references import PREFIXES, find_secrets
from artificer.errors import ConfigError

_SECRET_NAME = re.compile("(?i)authorization|cookie|secret|token|key|passw")
"""Names of headers, variables and settings whose values are secrets, also where they are given as
they are."""


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
        literal = {
            name: text.rpartition(" ")[2]  # of "Bearer token", the token
            for name, text in texts.items()
            if _SECRET_NAME.search(name) and not any(p.secret for p in parts[name])
        }
        self._known |= {n: v for n, v in literal.items() if len(v) >= MIN_ENCODED} | secrets
        self.redactor = Redactor(self._known)
        return {
            name: "".join(secrets[p.secret] if p.secret else p.text for p in pieces)
            for name, pieces in parts.items()
        }

    def learn(self, name: str, secret: str) -> None:
        """Take one more out of what the server answers."""
        self._known[name] = secret
        self.redactor = Redactor(self._known)

"""The secrets of one connection to an MCP server: put into its texts, taken out of its answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from artificer.backends.http.spec.template import parse_parts
from artificer.backends.secrets.forms import MIN_ENCODED
from artificer.backends.secrets.redaction import Redactor
from artificer.errors import ConfigError
from artificer.secrets.resolver import Secrets

_SECRET_NAME = re.compile("(?i)authorization|cookie|secret|token|key|passw")
"""Names of headers, variables and settings whose values are secrets, even where they are given as
they are."""


def names_in(*texts: Mapping[str, str]) -> Iterable[str]:
    """Return the names of the secrets that texts refer to, each once."""
    parts = (p for each in texts for text in each.values() for p in parse_parts(text))
    return dict.fromkeys(part.secret for part in parts if part.secret)


class ServerSecrets:
    """``redactor`` knows those that were put in, and those that the connection brought."""

    def __init__(self, server: str, secrets: Secrets) -> None:
        self._server = server
        self._secrets = secrets
        self._known: dict[str, str] = {}
        self.redactor = Redactor({})

    async def fill(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Texts with their secrets. Raises ConfigError for one that is not set."""
        parts = {name: parse_parts(text) for name, text in texts.items()}
        found = await self._secrets.found(names_in(texts))
        if found.missing:
            raise ConfigError(
                f"The MCP server {self._server!r} needs the secret {found.name!r}: "
                f"{found.missing}.",
                hint=found.hint or None,
            )
        secrets = found.values
        literal = {
            name: text.rpartition(" ")[2]  # of "Bearer token", the token
            for name, text in texts.items()
            if _SECRET_NAME.search(name) and not any(p.secret for p in parts[name])
        }
        self._known |= {n: v for n, v in literal.items() if len(v) >= MIN_ENCODED}
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

"""Secrets in variables of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from artificer.contracts.secret_references import PREFIXES
from artificer.errors import ConfigError


class Variables:
    """The variables of an environment, as they are set when they are read.

    ``prefixes`` stand before a name in capitals, and the first variable that is set wins. Without
    any, a name is that of the variable itself.
    """

    local = True

    def __init__(self, environment: Mapping[str, str], prefixes: tuple[str, ...] = ()) -> None:
        self._environment = environment
        self._prefixes = prefixes

    def resolve(self, name: str) -> str | None:
        """Return the value of the variable, if it is not empty."""
        variables = [p + name.upper() for p in self._prefixes] or [name]
        return next((v for n in variables if (v := self._environment.get(n))), None)

    def place(self, name: str) -> str:
        """Return the variable to set."""
        return self._prefixes[0] + name.upper() if self._prefixes else name

    def at_hand(self) -> Mapping[str, str]:
        """Return every variable that begins with a prefix."""
        return {
            name: value
            for name, value in self._environment.items()
            if value and self._prefixes and name.startswith(self._prefixes)
        }


class _Environment:
    def open(self, setting: str) -> Variables:
        """Return the variables of this process."""
        if setting != "env":
            raise ConfigError(
                f"Unknown source of secrets: {setting!r}.",
                hint='Write "env" with nothing after it.',
            )
        return Variables(os.environ, PREFIXES)


ENVIRONMENT = _Environment()

"""The source of secrets ``dotenv:FILE``: lines ``NAME=value`` of a file, as many tools keep them.

A value in double quotes is JSON text, so it may have several lines. A secret ``name`` is the line
``NAME`` or ``name``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from artificer.errors import ConfigError, OperatorError
from artificer.ports import SecretSource


class DotEnv:
    """The values of a file, read each time (``artificer.ports.SecretSource``)."""

    local = True

    def __init__(self, file: Path) -> None:
        self._file = file

    def resolve(self, name: str) -> str | None:
        """Return the value of a name, if it is there."""
        values = self.at_hand()
        return values.get(name) or values.get(name.upper()) or None

    def place(self, name: str) -> str:
        """Return the line to write."""
        return f"{self._file}, line {name.upper()}=…"

    def at_hand(self) -> Mapping[str, str]:
        """Return every value that is not empty. Raises OperatorError, which shows none."""
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
            pairs = [line.partition("=") for line in lines if not line.startswith("#")]
            read = {name.strip(): _value(text.strip()) for name, _, text in pairs}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise OperatorError(f"{self._file} cannot be read: {type(error).__name__}") from None
        return {name: value for name, value in read.items() if name and value}


def _value(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


class DotEnvKind:
    """Opens the file of a setting (``artificer.ports.SecretSourceKind``)."""

    def open(self, setting: str) -> SecretSource:
        """Return the source of ``dotenv:FILE``. Raises ConfigError without a file."""
        file = setting.partition(":")[2]
        if not file:
            raise ConfigError(
                "The source of secrets 'dotenv' has no file.",
                hint="Write 'dotenv:/an/absolute/file' in the setting secrets.",
            )
        return DotEnv(Path(file))


SECRETS = DotEnvKind()

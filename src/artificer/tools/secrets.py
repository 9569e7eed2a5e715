"""Secrets of tools: found in the environment at sending, and taken out of all that is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

PREFIXES = ("ARTIFICER_SECRET_", "TOOLCLAD_SECRET_")
"""A secret ``name`` is the variable of either prefix and the name in capitals; the first wins."""


def find_secrets(
    names: Iterable[str], environment: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The secrets of these names, and the names of those that are not set or empty."""
    found = {}
    missing = []
    for name in names:
        variables = (environment.get(prefix + name.upper()) for prefix in PREFIXES)
        value = next((v for v in variables if v), None)
        if value is None:
            missing.append(name)
        else:
            found[name] = value
    return found, tuple(missing)


MIN_HIDDEN = 4
"""Characters of the shortest value that is hidden wherever it stands: a shorter one would be found
in any text."""


def all_secrets(environment: Mapping[str, str], also: Iterable[str]) -> dict[str, str]:
    """Every secret of the environment, by its variable, and the variables that are named."""
    names = {name for name in environment if name.startswith(PREFIXES)} | set(also)
    found = {name: environment.get(name, "") for name in sorted(names)}
    return {name: value for name, value in found.items() if len(value) >= MIN_HIDDEN}


class Redactor:
    """Takes secrets out of texts, in each form in which a request may have carried them."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        forms = {}
        for name, value in secrets.items():
            escaped = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
            for form in (value, *escaped, quote(value, safe=""), quote(value), quote_plus(value)):
                forms[form] = f"[secret {name}]"
        # The longest first: one secret may be the beginning of another.
        self._forms = sorted(forms.items(), key=lambda item: -len(item[0]))

    @property
    def longest(self) -> int:
        """Characters of the longest form: as many may be missing at a cut."""
        return len(self._forms[0][0]) if self._forms else 0

    def clean(self, text: str) -> str:
        """The text without the secrets."""
        for form, mark in self._forms:
            text = text.replace(form, mark)
        return text

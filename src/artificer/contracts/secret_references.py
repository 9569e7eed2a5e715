"""References to secrets, ``{_secret:name}``, and the variables that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PREFIXES = ("ARTIFICER_SECRET_", "TOOLCLAD_SECRET_")
"""A secret ``name`` is the variable of either prefix and the name in capitals; the first wins."""

_REFERENCE = re.compile(r"\{_secret:(\w+)\}")


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


def references_in(text: str) -> tuple[str, ...]:
    """Return the names of the secrets that a text refers to."""
    return tuple(_REFERENCE.findall(text))


def with_secrets(text: str, environment: Mapping[str, str]) -> str:
    """Return a text with its references replaced; one that is not set becomes an empty text."""
    found, _ = find_secrets(references_in(text), environment)
    return _REFERENCE.sub(lambda match: found.get(match[1], ""), text)

"""References to secrets, ``{_secret:name}``, and the variables that may hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping

PREFIXES = ("ARTIFICER_SECRET_", "TOOLCLAD_SECRET_")
"""In the environment, a secret ``name`` is the variable of either prefix and the name in capitals;
the first wins.
"""

_REFERENCE = re.compile(r"\{_secret:(\w+)\}")


def references_in(text: str) -> tuple[str, ...]:
    """Return the names of the secrets that a text refers to."""
    return tuple(_REFERENCE.findall(text))


def with_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """Return a text with its references replaced by these secrets."""
    return _REFERENCE.sub(lambda match: secrets[match[1]], text)

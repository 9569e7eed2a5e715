"""The longest reply of known models, from ``longest_reply.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import rtoml
from msgspec import Struct

from artificer import providers
from artificer.system.files import packaged

UNKNOWN = 4_096
"""Tokens that every model can write."""


class _Table(Struct, frozen=True):
    providers: Mapping[str, int]
    models: Mapping[str, int]


def longest_reply(model: str) -> int | None:
    """Return the longest reply of a ``provider/model`` in tokens, or None if unknown."""
    provider, _, name = model.partition("/")
    table = _table()
    if provider in table.providers:
        return table.providers[provider]
    bare = name.rpartition("/")[2].lower().replace(".", "-")
    known = [prefix for prefix in table.models if begins(bare, prefix)]
    return table.models[max(known, key=len)] if known else None


def begins(name: str, prefix: str) -> bool:
    """Return whether ``prefix`` matches: ``gpt-4`` matches ``gpt-4-0613``, not ``gpt-4o``."""
    return name.startswith(prefix) and not name[len(prefix) : len(prefix) + 1].isalnum()


@lru_cache(maxsize=1)
def _table() -> _Table:
    data = rtoml.loads(packaged(providers, "longest_reply.toml"))
    return _Table(data["providers"], data["models"])

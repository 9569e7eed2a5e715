"""How long a reply a known model can write, from ``longest_reply.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

UNKNOWN = 4_096
"""Tokens that any model can be asked for."""


@dataclass(frozen=True)
class _Table:
    providers: Mapping[str, int]
    models: Mapping[str, int]


def longest_reply(model: str) -> int | None:
    """The longest reply of a ``provider/model`` in tokens, or None where it is not known."""
    provider, _, name = model.partition("/")
    table = _table()
    if provider in table.providers:
        return table.providers[provider]
    bare = name.rpartition("/")[2].lower().replace(".", "-")
    known = [prefix for prefix in table.models if _begins(bare, prefix)]
    return table.models[max(known, key=len)] if known else None


def _begins(name: str, prefix: str) -> bool:
    """``gpt-4`` is the beginning of ``gpt-4-0613``, not of ``gpt-4o``."""
    return name.startswith(prefix) and not name[len(prefix) : len(prefix) + 1].isalnum()


@lru_cache(maxsize=1)
def _table() -> _Table:
    text = resources.files("artificer.providers").joinpath("longest_reply.toml").read_text("utf-8")
    data = tomllib.loads(text)
    return _Table(data["providers"], data["models"])

"""Long strings stand for themselves only once: elsewhere their digest stands for them."""

from __future__ import annotations

from typing import Any

from artificer.values.canon import digest_of

INLINE_LIMIT = 4096
"""Longest string, in UTF-8 bytes, that stays in a record or an output item."""


def spilled(value: Any, blobs: list[bytes]) -> Any:
    """Replace every long string by ``{"$blob": digest}``, and add its bytes to ``blobs``."""
    if isinstance(value, str):
        if len(value) * 4 <= INLINE_LIMIT:
            return value
        data = value.encode()
        if len(data) <= INLINE_LIMIT:
            return value
        blobs.append(data)
        return {"$blob": digest_of(data)}
    if isinstance(value, dict):
        return {name: spilled(member, blobs) for name, member in value.items()}
    if isinstance(value, list):
        return [spilled(item, blobs) for item in value]
    return value

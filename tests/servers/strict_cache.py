"""How the strict double keeps what it has read, and which marks it refuses."""

from __future__ import annotations

import json
from typing import Any, Literal

KEPT_TOKENS = 8
"""Tokens of every request that a cache may hold; the double counts 10 in each."""

CACHE_MEMBERS = {
    "chat": {"prompt_cache_key"},
    "messages": {"cache_control"},
    "responses": {"prompt_cache_key"},
}

MOST_MARKS = 4
_LONGEST_KEY = 64

Kept = Literal["read", "written"] | None
"""The result of caching the beginning of a request, if it requested caching."""


def cache_fault(body: dict[str, Any]) -> str | None:
    """Return the fault about caching that a provider would refuse, or None."""
    key = body.get("prompt_cache_key", "-")
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        return "prompt_cache_key: invalid"
    marked = [place for place in _places(body) if "cache_control" in place]
    if len(marked) > MOST_MARKS:
        return f"A maximum of {MOST_MARKS} blocks with cache_control, found {len(marked)}"
    for place in marked:
        if place["cache_control"].get("type") != "ephemeral":
            return "cache_control: invalid type"
        if place.get("type") in ("thinking", "redacted_thinking"):
            return "cache_control: thinking blocks cannot be marked"
    return None


def system_texts(body: dict[str, Any]) -> list[Any]:
    """The texts of a system prompt, which is a list of blocks where one is marked."""
    system = body.get("system", [])
    return [block.get("text") for block in system] if isinstance(system, list) else [system]


def _places(body: dict[str, Any]) -> list[dict[str, Any]]:
    system = body.get("system")
    blocks = [
        block
        for message in body.get("messages", [])
        if isinstance(message.get("content"), list)
        for block in message["content"]
    ]
    return [body, *body.get("tools", []), *(system if isinstance(system, list) else []), *blocks]


class PromptCache:
    """Remembers what was to be kept, and recognises a request that begins so."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, list[str]]] = []

    def keep(self, body: dict[str, Any]) -> Kept:
        """Keep a request that asks for it; say whether it begins as an earlier one did."""
        if "cache_control" not in body and "prompt_cache_key" not in body:
            return None
        rest = {name: value for name, value in body.items() if name not in ("messages", "input")}
        items = [json.dumps(item) for item in body.get("messages") or body.get("input") or []]
        head = json.dumps(rest, sort_keys=True)
        known = any(head == h and items[: len(i)] == i for h, i in self._kept)
        self._kept.append((head, items))
        return "read" if known else "written"

"""Tool names on the wire: our names may hold dots, the providers' names may not.

Anthropic and OpenAI accept ``^[a-zA-Z0-9_-]{1,64}$`` (their API references); ours are
``[A-Za-z0-9_.-]{1,64}``. The mapping has to be reversible, and two tools must never meet in one
wire name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MAX_WIRE_NAME = 64
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_DIGEST_CHARS = 8


class SafeNames:
    """A bijection between a toolset's names and provider-safe names.

    A name that is already safe stays as it is. In any other, each unsafe character becomes ``_``;
    where that is taken, the name gets a digest of itself as a suffix. Names are taken in sorted
    order, so the order in which they are given plays no part.

    Adding a tool changes the wire name of another only when the two would collide; safe names
    never change. A run's toolset is fixed, so its wire names are too.
    """

    def __init__(self, names: Iterable[str]) -> None:
        unique = sorted(set(names))
        self._to_wire = {name: name for name in unique if _SAFE.match(name)}
        taken = set(self._to_wire)
        unsafe = [name for name in unique if name not in taken]
        for name in unsafe:
            wire = _readable(name)
            if wire in taken:
                wire = _suffixed(name, taken)
            taken.add(wire)
            self._to_wire[name] = wire
        self._from_wire = {wire: name for name, wire in self._to_wire.items()}

    def to_wire(self, name: str) -> str:
        """Return the wire name of a tool.

        A name outside the toolset (a model made it up, or an older turn used it) becomes a safe
        name that belongs to no tool of the set, so that history can always be sent.
        """
        if name in self._to_wire:
            return self._to_wire[name]
        if _SAFE.match(name) and name not in self._from_wire:
            return name
        return _suffixed(name, set(self._from_wire))

    def from_wire(self, name: str) -> str:
        """Return the tool's own name; any other name comes back unchanged."""
        return self._from_wire.get(name, name)


def _readable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_WIRE_NAME] or "_"


def _suffixed(name: str, taken: Iterable[str]) -> str:
    """Return the first digest-suffixed form of ``name`` that is not taken."""
    occupied = set(taken)
    seed = name
    while True:
        digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
        wire = f"{_readable(name)[: MAX_WIRE_NAME - _DIGEST_CHARS - 1]}_{digest}"
        if wire not in occupied:
            return wire
        seed = digest + seed

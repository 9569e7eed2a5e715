"""The types and the defaults of the fields that classes of values declare."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import NODEFAULT, Struct


class MadeDefault(Struct, frozen=True):
    """A default that is made for each value."""

    factory: Callable[[], Any]


@cache
def types_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the types of a class's fields, in order.

    msgspec's own `fields` compiles each annotation alone, which a program notices when it starts.
    """
    types: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        hints = getattr(base, "__annotations__", {})
        names = [name for name in kind.__struct_fields__ if name in hints]
        types.update((name, hints[name]) for name in names)
        written = [name for name in names if isinstance(hints[name], str)]
        if written:
            module = getattr(sys.modules.get(base.__module__), "__dict__", {})
            expression = ", ".join(hints[name] for name in written)
            found = eval(f"[{expression}]", module, dict(vars(base)))
            types.update(zip(written, found, strict=True))
    return {name: types[name] for name in kind.__struct_fields__}


@cache
def defaults_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the default of each field, as it is declared; NODEFAULT if it has none."""
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    made = [MadeDefault(d.factory) if hasattr(d, "factory") else d for d in defaults]
    required = [NODEFAULT] * (len(names) - len(made))
    return dict(zip(names, [*required, *made], strict=True))

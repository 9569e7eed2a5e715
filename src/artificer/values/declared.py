"""What the classes of values declare: the types of their fields, and the defaults."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from msgspec import NODEFAULT, Struct


class Made(NamedTuple):
    """A default that is made for each value."""

    factory: Callable[[], Any]


@cache
def types_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the types of a class's fields, in order.

    msgspec's own `fields` also puts arguments in the place of type variables, which no value has,
    and takes six times as long: at the start of a program that is noticed.
    """
    return {name: _type_of(kind, name) for name in kind.__struct_fields__}


def _type_of(kind: type[Struct], name: str) -> Any:
    for base in kind.__mro__:
        hint = getattr(base, "__annotations__", {}).get(name)
        if isinstance(hint, str):
            return eval(hint, vars(sys.modules[base.__module__]), dict(vars(base)))
        if hint is not None:
            return hint
    raise AssertionError(f"{kind.__name__}.{name} has no type.")


@cache
def defaults_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the default of each field: `Made` if there is one for each value, or NODEFAULT."""
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    made = [Made(d.factory) if hasattr(d, "factory") else d for d in defaults]
    required = [NODEFAULT] * (len(names) - len(made))
    return dict(zip(names, [*required, *made], strict=True))

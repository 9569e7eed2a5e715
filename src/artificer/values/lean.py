"""Values without what is a default: what identities, and with them digests, are made of.

A state has more than forty fields and is digested after every event. So each kind of value that is
used often has its own function, which looks at each field once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct

from artificer.values.declared import MadeDefault, defaults_of, types_of

Lean = Callable[[Any], dict[str, Any]]

FIRST_USES = 8
"""Uses of a kind before its function is written. A run of one turn has no more, and would notice
what writing takes: as much as some hundred uses.
"""

_PLAIN = (str, int, bool, float, NoneType, Any)


class LeanByClass(dict[type, Callable[[Any], Any]]):
    """The functions that make JSON of values, by their class; arrays may be tuples.

    Members of a value with one of the names ``without`` are left out, and those that are defaults.
    The tag is one, unless the class says that it is content.
    """

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self._without = without

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        self[kind] = made = self._made_for(kind)
        return made

    def _made_for(self, kind: type) -> Callable[[Any], Any]:
        of = LEAN
        if issubclass(kind, Struct):
            return self._at_first(kind)
        if issubclass(kind, Enum):
            return lambda member: member._value_  # `value` is a property, made in Python
        if kind is tuple or kind is list:
            return lambda member: [of[item.__class__](item) for item in member]
        if kind is dict:
            return lambda member: {name: of[item.__class__](item) for name, item in member.items()}
        return lambda member: member

    def _at_first(self, kind: type[Struct]) -> Lean:
        """Return the function for the first uses of a kind, the last of which replaces it."""
        of, tag, uses = LEAN, _tag(kind), 0
        defaults = {name: d for name, d in _defaults(kind).items() if name not in self._without}

        def lean(value: Any) -> dict[str, Any]:
            nonlocal uses
            uses += 1
            if uses == FIRST_USES:
                self[kind] = _written(kind, self._without)
            out: dict[str, Any] = {}
            for name, default in defaults.items():
                member = getattr(value, name)
                if member is not default and member != default:
                    out[name] = of[member.__class__](member)
            return out | tag

        return lean


LEAN = LeanByClass()
"""The functions for all members of all values."""


def _tag(kind: type[Struct]) -> dict[str, Any]:
    """Return the tag of a class that says that it is content."""
    config = kind.__struct_config__
    return {str(config.tag_field): config.tag} if getattr(kind, "tag_is_content", False) else {}


def _defaults(kind: type[Struct]) -> dict[str, Any]:
    """Return the default of each field, or NODEFAULT."""
    return {
        name: default.factory() if isinstance(default, MadeDefault) else default
        for name, default in defaults_of(kind).items()
    }


def _written(kind: type[Struct], without: frozenset[str]) -> Lean:
    """Write the function for a kind of value."""
    names: dict[str, Any] = {"of": LEAN, "tag": _tag(kind)}
    lines = ["def lean(value):", "    out = dict(tag)" if names["tag"] else "    out = {}"]
    types = types_of(kind)
    for number, (name, default) in enumerate(_defaults(kind).items()):
        if name in without:
            continue
        member = f"value.{name}"
        take = f"out[{name!r}] = {_kept(member, types[name])}"
        if default is not NODEFAULT:
            names[f"d{number}"] = default
            take = f"if {_differs(member, types[name], default, number)}: {take}"
        lines.append(f"    {take}")
    lines.append("    return out")
    exec("\n".join(lines), names)
    made: Lean = names["lean"]
    return made


def _kept(member: str, hint: Any) -> str:
    """The expression for the JSON of a member, without a call where its type allows that."""
    if _is_plain(hint):
        return member
    if get_origin(hint) is tuple:
        return f"[of[item.__class__](item) for item in {member}]"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"{member}._value_"  # `value` is a property, made in Python
    return f"of[{member}.__class__]({member})"


def _differs(member: str, hint: Any, default: Any, number: int) -> str:
    """The condition that a member is not the default, as quick as its type allows.

    Most members are the default. Of some types only one value is false, so it alone can be one.
    """
    if default is None:
        return f"{member} is not None"
    kind = default.__class__
    if not default and kind in (str, int, bool, tuple) and kind in (hint, get_origin(hint)):
        return member
    return f"{member} is not d{number} and {member} != d{number}"


def _is_plain(hint: Any) -> bool:
    """Whether what a field holds is JSON as it is."""
    origin = get_origin(hint)
    if origin is None or origin is Literal:
        return origin is Literal or hint is ... or hint in _PLAIN
    inner = get_args(hint)
    if origin is Annotated:
        return _is_plain(inner[0])
    return origin in (Union, UnionType, tuple, dict) and all(map(_is_plain, inner))

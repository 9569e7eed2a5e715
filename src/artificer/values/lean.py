"""Values without what is a default: what identities, and with them digests, are made of.

A state has more than forty fields and is digested after every event. So each kind of value has its
own function, written when it is first needed, that looks at each field once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct

from artificer.values.declared import Made, defaults_of, types_of

Lean = Callable[[Any], dict[str, Any]]

_PLAIN = (str, int, bool, float, NoneType, Any)


@cache
def lean_of(kind: type[Struct], without: frozenset[str] = frozenset()) -> Lean:
    """Return the function that makes the JSON object of a value's members, less the defaults.

    A member of the names ``without`` is left out. The tag is a default, unless the class says that
    it is content.
    """
    names: dict[str, Any] = {"of": LEAN}
    lines = ["def lean(value):", "    out = {}"]
    defaults = defaults_of(kind)
    for number, (name, hint) in enumerate(types_of(kind).items()):
        if name in without:
            continue
        member, default = f"value.{name}", defaults[name]
        take = f"out[{name!r}] = {_kept(member, hint)}"
        if default is NODEFAULT:
            lines.append(f"    {take}")
            continue
        default = default.factory() if isinstance(default, Made) else default
        names[f"d{number}"] = default
        lines.append(f"    if {_differs(member, hint, default, number)}: {take}")
    config = kind.__struct_config__
    if getattr(kind, "tag_is_content", False):
        lines.append(f"    out[{config.tag_field!r}] = {config.tag!r}")
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


class _ByClass(dict[type, Callable[[Any], Any]]):
    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        self[kind] = made = _made_for(kind)
        return made


LEAN = _ByClass()
"""The function that makes JSON of a member, by the member's class."""


def _made_for(kind: type) -> Callable[[Any], Any]:
    of = LEAN
    if issubclass(kind, Struct):
        return lean_of(kind)
    if issubclass(kind, Enum):
        return lambda member: member._value_  # `value` is a property, made in Python
    if kind is tuple or kind is list:
        return lambda member: [of[item.__class__](item) for item in member]
    if kind is dict:
        return lambda member: {name: of[item.__class__](item) for name, item in member.items()}
    return lambda member: member


def _is_plain(hint: Any) -> bool:
    """Whether what a field holds is JSON as it is."""
    origin = get_origin(hint)
    if origin is None or origin is Literal:
        return origin is Literal or hint is ... or hint in _PLAIN
    inner = get_args(hint)
    if origin is Annotated:
        return _is_plain(inner[0])
    return origin in (Union, UnionType, tuple, dict) and all(map(_is_plain, inner))

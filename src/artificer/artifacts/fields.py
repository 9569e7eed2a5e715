"""Fields shared by several kinds: ids, titles, labels, and their rules.

Lengths are in code points. Nothing is trimmed, cut or coerced: a value outside its limit is a
problem for the model. The annotations below hold everything that JSON Schema can express; each
tool's input schema is derived from them. The functions check the rest and skip values of the wrong
type, which the schema reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any
from unicodedata import category

from artificer.contracts import schema
from artificer.values.base import JsonObject, JsonValue, Meta, Problem
from artificer.values.text import unprintable

MAX_ID = 64
MAX_TITLE = 200

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Unicode categories of control and format characters, spaces and line ends."""

Id = Annotated[
    str,
    Meta(
        pattern=rf"^[A-Za-z0-9_-]{{1,{MAX_ID}}}$",
        description="Short id of your choice: letters, digits, _ and -. The narrative cites it.",
    ),
]
Title = Annotated[str, Meta(max_length=MAX_TITLE, description="Heading shown above it.")]
FiniteNumber = float
NonNegative = Annotated[float, Meta(ge=0)]


def text_field(limit: int, description: str) -> Any:
    """Return the rules of a text of 1 to ``limit`` code points."""
    return Meta(min_length=1, max_length=limit, description=description)


def items(owner: JsonValue, name: str) -> list[JsonValue]:
    """Return the list in a member of ``owner``, or an empty list."""
    value = owner.get(name) if isinstance(owner, dict) else None
    return value if isinstance(value, list) else []


def text(owner: JsonValue, name: str) -> str | None:
    """Return the string in a member of ``owner``, or None."""
    value = owner.get(name) if isinstance(owner, dict) else None
    return value if isinstance(value, str) else None


def number(value: JsonValue) -> float | None:
    """Return the number, or None for anything else (``true`` is not a number)."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def blank(value: JsonValue, pointer: str) -> Iterator[Problem]:
    """Yield a problem for a text without a visible character. (The schema reports an empty one.)"""
    if isinstance(value, str) and value and all(category(c) in _INVISIBLE for c in value):
        yield Problem(pointer=pointer, message="is blank: it needs a visible character")


def controls(value: JsonValue, free: str = "") -> Iterator[Problem]:
    """Yield problems for control characters, such as NUL, in any text of ``value``.

    The member ``free`` is a whole text: only NUL is refused in it.
    """
    waiting: list[tuple[JsonValue, list[str | int]]] = [(value, [])]
    while waiting:
        item, path = waiting.pop()
        if isinstance(item, dict):
            waiting += [(item[name], [*path, name]) for name in reversed(item)]
        elif isinstance(item, list):
            waiting += [(item[index], [*path, index]) for index in reversed(range(len(item)))]
        elif isinstance(item, str):
            whole = bool(path) and path[-1] == free
            found = "\x00" if "\x00" in item else None if whole else unprintable(item)
            if found:
                message = f"holds the character U+{ord(found):04X}, which cannot be shown"
                yield Problem(pointer=schema.pointer(path), message=f"{message}: leave it out")


def blanks(owner: JsonObject, list_name: str, member: str, pointer: str = "") -> Iterator[Problem]:
    """Yield problems for blank texts in ``member`` of each object of a list."""
    for index, item in enumerate(items(owner, list_name)):
        yield from blank(text(item, member), f"{pointer}/{list_name}/{index}/{member}")


def repeats(
    values: list[JsonValue],
    pointers: list[str],
    what: str,
    *,
    key: Callable[[str], str] = lambda value: value.strip().casefold(),
    rule: str = "upper and lower case count as equal",
) -> Iterator[Problem]:
    """Yield problems for repeated strings. ``key`` maps a string to its compared form (default:
    case folded, outer white space removed), and ``rule`` describes that comparison.
    """
    first: dict[str, str] = {}
    for value, pointer in zip(values, pointers, strict=True):
        if not isinstance(value, str) or not value.strip():
            continue
        same = key(value)
        if same in first:
            yield Problem(
                pointer=pointer,
                message=f"repeats the {what} at {first[same]} ({rule})",
                actual=value[:80],
            )
        first.setdefault(same, pointer)

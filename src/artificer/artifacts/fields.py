"""What the payloads of several kinds share: ids, titles, labels, and the rules about them.

Lengths are in code points. Nothing is trimmed, cut or coerced: a value outside its limit is a
problem for the model. What JSON Schema can say is said in the annotations below, from which each
tool's input schema is derived; the functions say the rest, and skip whatever has the wrong type,
because the schema reports that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any
from unicodedata import category

from pydantic import Field, JsonValue

from artificer.contracts import schema
from artificer.values.base import JsonObject, Problem
from artificer.values.text import unprintable

MAX_ID = 64
MAX_TITLE = 200

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Unicode's categories of control and format characters, spaces and line ends."""

Id = Annotated[
    str,
    Field(
        pattern=rf"^[A-Za-z0-9_-]{{1,{MAX_ID}}}$",
        description="Short id of your choice: letters, digits, _ and -. The narrative cites it.",
    ),
]
Title = Annotated[str, Field(max_length=MAX_TITLE, description="Heading shown above it.")]
Number = Annotated[float, Field(allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def text_field(limit: int, description: str) -> Any:
    """A pydantic field: a text of 1 to ``limit`` code points."""
    return Field(min_length=1, max_length=limit, description=description)


def items(owner: JsonValue, name: str) -> list[JsonValue]:
    """The list that is a member of ``owner``, or an empty one where there is none."""
    value = owner.get(name) if isinstance(owner, dict) else None
    return value if isinstance(value, list) else []


def text(owner: JsonValue, name: str) -> str | None:
    """The string that is a member of ``owner``, or None where there is none."""
    value = owner.get(name) if isinstance(owner, dict) else None
    return value if isinstance(value, str) else None


def number(value: JsonValue) -> float | None:
    """The number, or None for anything else (``true`` is no number)."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def blank(value: JsonValue, pointer: str) -> Iterator[Problem]:
    """A text without a visible character. (The schema reports the empty one.)"""
    if isinstance(value, str) and value and all(category(c) in _INVISIBLE for c in value):
        yield Problem(pointer=pointer, message="is blank: it needs a visible character")


def controls(value: JsonValue, free: str = "") -> Iterator[Problem]:
    """Texts anywhere in ``value`` with a character that no document can show, such as NUL.

    A text in the member ``free`` is whole in itself: there only NUL is refused.
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
    """Blank texts in member ``member`` of each object of a list."""
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
    """Strings that occur again. ``key`` is what is compared of them (default: no case, no outer
    white space), and ``rule`` says so."""
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

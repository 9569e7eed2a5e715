"""Conditions on a call's arguments, and how sure it is that they hold.

What a model wrote can often be read in more than one way. A condition says of each call whether it
*may* hold (in one reading) and whether it holds *surely* (in every reading, and with the JSON type
that the rule's author wrote). What follows from a doubt is for :mod:`artificer.core.policy`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import force_setattr

from artificer.core.readings import (
    compiles,
    found,
    glob,
    number,
    plain,
    readings,
    whole,
    wide_readings,
)
from artificer.values.base import CheckedValue, JsonObject, JsonValue, Meta
from artificer.values.canon import canonical
from artificer.values.pointer import steps_of

Operand = str | int | bool
"""The right side of a comparison with an argument. Fractions are compared by bounds."""


def _bound(value: object) -> object:
    """A fraction as decimal text: no stored value holds a float."""
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else value


Bound = int | Annotated[str, Meta(pattern=r"^-?\d{1,40}(\.\d{1,40})?\Z", extra={"from": _bound})]
"""An integer, or a decimal in text."""

Pointer = Annotated[str, Meta(pattern=r"^(/([^~/]|~[01])*)+\Z", max_length=500)]
"""RFC 6901, of one argument at least: ``~1`` is a slash within a name, ``~0`` a tilde."""


Read = Callable[[str], tuple[str, ...]]
"""Finds the readings of a text."""


class Match(Struct, frozen=True):
    """Whether something may hold, and whether it surely does."""

    possible: bool
    certain: bool


NO = Match(False, False)
YES = Match(True, True)
_DOUBT = Match(True, False)


class Condition(CheckedValue):
    """Holds when the argument at the JSON Pointer ``at`` satisfies everything that is given here.

    ``equals`` and ``one_of`` compare values; ``glob`` (``*`` within a path's step, ``**`` across)
    and ``pattern`` (a regular expression of linear time) look at texts; ``minimum`` and ``maximum``
    bound numbers. An array is looked at item by item. An argument that is not given has the
    default of the tool's schema; without one no condition on it holds.
    """

    at: Pointer
    equals: Operand | None = None
    one_of: tuple[Operand, ...] = ()
    glob: Annotated[str, Meta(min_length=1, max_length=2_000)] | None = None
    pattern: Annotated[str, Meta(min_length=1, max_length=2_000)] | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None

    def __post_init__(self) -> None:
        """Write fractions as text, and check all fields."""
        for name in ("minimum", "maximum"):
            force_setattr(self, name, _bound(getattr(self, name)))
        super().__post_init__()

    def check(self) -> None:
        """Refuse a condition that says nothing, and a pattern that is none."""
        texts = (self.equals, self.glob, self.pattern, self.minimum, self.maximum)
        if not self.one_of and all(operand is None for operand in texts):
            raise self.invalid(
                "", "says nothing: give equals, one_of, glob, pattern, minimum or maximum"
            )
        if self.pattern is not None and not compiles(self.pattern):
            raise self.invalid(
                "/pattern",
                "is not a regular expression of linear time: it has a fault, "
                "or looks around or back",
            )

    def match(self, arguments: JsonObject, schema: JsonObject, *, wide: bool = True) -> Match:
        """Hold this against the arguments of a call of a tool with that input schema.

        Without ``wide``, texts have the readings of the rules of version 1.
        """
        read = wide_readings if wide else readings
        value = _at(self.at, arguments, schema)
        if value is _ELSEWHERE:
            return _DOUBT
        matches = [self._match(leaf, read) for leaf in _leaves(value)]
        return Match(
            any(m.possible for m in matches), bool(matches) and all(m.certain for m in matches)
        )

    def _match(self, value: JsonValue, read: Read) -> Match:
        checks: list[Match] = []
        if self.equals is not None:
            checks.append(_equal(value, self.equals, read))
        if self.one_of:
            checks.append(_either(_equal(value, option, read) for option in self.one_of))
        if self.glob is not None:
            checks.append(_like(value, self.glob, read))
        if self.pattern is not None:
            checks.append(_matching(value, self.pattern, read))
        if self.minimum is not None or self.maximum is not None:
            checks.append(_within(value, self.minimum, self.maximum))
        return both(checks)


def both(matches: list[Match]) -> Match:
    """Return whether all of them may hold, and whether all surely do."""
    return Match(all(m.possible for m in matches), all(m.certain for m in matches))


def _either(matches: Iterator[Match]) -> Match:
    known = list(matches)
    return Match(any(m.possible for m in known), any(m.certain for m in known))


_MISSING: Any = object()
_ELSEWHERE: Any = object()
_REFERENCES = 16


def _at(pointer: str, arguments: JsonObject, schema: JsonObject) -> Any:
    """The argument that a pointer leads to, else the default that the schema gives it.

    _MISSING where there is nothing; _ELSEWHERE where the way is barred by a value of another type,
    so that what the rule means may stand somewhere else.
    """
    value: Any = arguments
    part: Any = schema
    for step in steps_of(pointer):
        part = _part(part, schema, step)
        if value is None:
            return _MISSING
        if isinstance(value, dict):
            value = value.get(step, part.get("default", _MISSING))
        elif isinstance(value, list) and _INDEX.match(step):
            value = value[int(step)] if int(step) < len(value) else _MISSING
        else:
            return _ELSEWHERE
        if value is _MISSING:
            return _MISSING
    return value


_INDEX = re.compile(r"^(0|[1-9][0-9]{0,8})\Z", re.ASCII)


def _part(part: Any, root: JsonObject, name: str) -> Any:
    """The schema of a member, as far as it is stated directly."""
    definitions = root.get("$defs")
    for _ in range(_REFERENCES):
        reference = part.get("$ref", "")
        if not (isinstance(definitions, dict) and str(reference).startswith("#/$defs/")):
            break
        part = definitions.get(str(reference).removeprefix("#/$defs/"))
        part = part if isinstance(part, dict) else {}
    properties = part.get("properties")
    found = properties.get(name) if isinstance(properties, dict) else None
    return found if isinstance(found, dict) else {}


def _leaves(value: Any) -> Iterator[JsonValue]:
    """The value, or those in an array; none where there is nothing."""
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not _MISSING:
        yield value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def _equal(value: JsonValue, option: str | int | bool, read: Read) -> Match:
    if isinstance(value, dict):
        return _DOUBT
    if _same_type(value, option) and canonical(value) == canonical(option):
        return YES
    wanted = _text(option)
    ours, theirs = number(wanted), number(_text(value))
    if not isinstance(option, bool) and ours is not None and ours == theirs:
        return _DOUBT
    folded = {wanted.casefold(), plain(wanted).casefold()}
    return Match(any(r.casefold() in folded for r in read(_text(value))), False)


def _same_type(value: JsonValue, option: str | int | bool) -> bool:
    kinds = (bool, str, (int, float))
    return next(isinstance(value, k) for k in kinds if isinstance(option, k)) and (
        isinstance(value, bool) == isinstance(option, bool)
    )


def _like(value: JsonValue, pattern: str, read: Read) -> Match:
    if value is None or isinstance(value, dict):
        return _DOUBT
    seen = read(_text(value))
    exact, loose = _globs(pattern)
    certain = isinstance(value, str) and all(any(found(e, r) for e in exact) for r in seen)
    return Match(certain or any(found(loose, r.casefold()) for r in seen), certain)


@lru_cache(maxsize=512)
def _globs(pattern: str) -> tuple[frozenset[str], str]:
    """The expressions of a glob: those that are sure, and the one that may be meant."""
    exact = frozenset(whole(glob(p, crossing=False)) for p in (pattern, plain(pattern)))
    return exact, whole(f"(?i){glob(plain(pattern).casefold(), crossing=True)}")


def _matching(value: JsonValue, pattern: str, read: Read) -> Match:
    """Possible where the pattern is found anywhere; certain where it matches the whole text."""
    if value is None or isinstance(value, dict):
        return _DOUBT
    seen = read(_text(value))
    exact, loose = whole(pattern), f"(?i:{pattern})"
    certain = isinstance(value, str) and all(found(exact, r) for r in seen)
    possible = certain or any(found(loose, form) for r in seen for form in (r, r.casefold()))
    return Match(possible, certain)


def _within(value: JsonValue, minimum: Bound | None, maximum: Bound | None) -> Match:
    """A number that is not one, or not readable, may be any number."""
    if value is None or isinstance(value, (dict, list)):
        return _DOUBT
    actual = number({True: "1", False: "0"}[value] if isinstance(value, bool) else _text(value))
    if actual is None:
        return _DOUBT
    low = minimum is None or Decimal(minimum) <= actual
    high = maximum is None or actual <= Decimal(maximum)
    holds = low and high
    return Match(holds, holds and isinstance(value, (int, float)) and not isinstance(value, bool))

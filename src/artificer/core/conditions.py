"""Conditions on a call's arguments, and how sure it is that they hold.

What a model wrote can often be read in more than one way. A condition says of each call whether it
*may* hold (in one reading) and whether it holds *surely* (in every reading, and with the JSON type
that the rule's author wrote). What follows from a doubt is for :mod:`artificer.core.policy`.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from artificer.core.readings import compiles, found, glob, number, plain, readings, whole
from artificer.values.base import JsonObject, Value
from artificer.values.canon import canonical

Operand = Annotated[str | int | bool, Field(union_mode="smart")]
"""What an argument is compared with. Fractions are compared by bounds."""


def _bound(value: object) -> object:
    """A fraction as decimal text: no stored value holds a float."""
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else value


Bound = Annotated[
    int | Annotated[str, Field(pattern=r"^-?\d{1,40}(\.\d{1,40})?$")], BeforeValidator(_bound)
]
"""An integer, or a decimal in text."""

Pointer = Annotated[str, Field(pattern=r"^(/([^~/]|~[01])*)*$", max_length=500)]
"""RFC 6901: ``~1`` is a slash within a name, ``~0`` a tilde. ``""`` is all the arguments."""


class Match(NamedTuple):
    """Whether something may hold, and whether it surely does."""

    possible: bool
    certain: bool


NO = Match(False, False)
YES = Match(True, True)
_DOUBT = Match(True, False)


class Condition(Value):
    """Holds when the argument at the JSON Pointer ``at`` satisfies everything that is given here.

    ``equals`` and ``one_of`` compare values; ``glob`` (``*`` within a path's step, ``**`` across)
    and ``pattern`` (a regular expression of linear time) look at texts; ``minimum`` and ``maximum``
    bound numbers. An array is looked at item by item. An argument that is not given has the
    default of the tool's schema; without one no condition on it holds.
    """

    at: Pointer
    equals: Operand | None = None
    one_of: tuple[Operand, ...] = ()
    glob: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    pattern: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None

    @model_validator(mode="after")
    def _meaningful(self) -> Self:
        if not self.model_fields_set - {"at"}:
            raise ValueError("says nothing: give equals, one_of, glob, pattern, minimum or maximum")
        if self.pattern is not None and not compiles(self.pattern):
            raise ValueError(
                "pattern is no regular expression of linear time: it has a fault, "
                "or looks around or back"
            )
        return self

    def match(self, arguments: JsonObject, schema: JsonObject) -> Match:
        """Hold this against the arguments of a call of a tool with that input schema."""
        leaves = list(_leaves(_at(self.at, arguments, schema)))
        matches = [self._match(leaf) for leaf in leaves]
        return Match(
            any(m.possible for m in matches), bool(matches) and all(m.certain for m in matches)
        )

    def _match(self, value: JsonValue) -> Match:
        checks: list[Match] = []
        options = self.one_of if self.equals is None else (self.equals,)
        if options:
            checks.append(_either(_equal(value, option) for option in options))
        if self.glob is not None:
            checks.append(_like(value, self.glob))
        if self.pattern is not None:
            checks.append(_matching(value, self.pattern))
        if self.minimum is not None or self.maximum is not None:
            checks.append(_within(value, self.minimum, self.maximum))
        return both(checks)


def both(matches: list[Match]) -> Match:
    """All of them."""
    return Match(all(m.possible for m in matches), all(m.certain for m in matches))


def _either(matches: Iterator[Match]) -> Match:
    known = list(matches)
    return Match(any(m.possible for m in known), any(m.certain for m in known))


_MISSING: Any = object()


def _at(pointer: str, arguments: JsonObject, schema: JsonObject) -> Any:
    """The argument that a pointer leads to, else the default of its parameter, else _MISSING."""
    steps = [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
    if steps and steps[0] not in arguments:
        properties: Any = schema.get("properties")
        parameter = properties.get(steps[0]) if isinstance(properties, dict) else None
        if not isinstance(parameter, dict) or "default" not in parameter:
            return _MISSING
        arguments = {steps[0]: parameter["default"]}
    value: Any = arguments
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _index(step) < len(value):
            value = value[_index(step)]
        else:
            return _MISSING
    return value


def _index(step: str) -> int:
    """The place in an array that a step names; one beyond every array when it names none."""
    plain_index = step.isascii() and step.isdecimal() and (step == "0" or step[0] != "0")
    return int(step) if plain_index and len(step) < 10 else 10**10


def _leaves(value: Any) -> Iterator[JsonValue]:
    """The value, or those in an array; none where there is nothing."""
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not _MISSING:
        yield value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def _equal(value: JsonValue, option: str | int | bool) -> Match:
    if isinstance(value, dict):
        return _DOUBT
    if _same_type(value, option) and canonical(value) == canonical(option):
        return YES
    wanted = _text(option)
    ours, theirs = number(wanted), number(_text(value))
    if not isinstance(option, bool) and ours is not None and ours == theirs:
        return _DOUBT
    folded = {wanted.casefold(), plain(wanted).casefold()}
    return Match(any(r.casefold() in folded for r in readings(_text(value))), False)


def _same_type(value: JsonValue, option: str | int | bool) -> bool:
    kinds = (bool, str, (int, float))
    return next(isinstance(value, k) for k in kinds if isinstance(option, k)) and (
        isinstance(value, bool) == isinstance(option, bool)
    )


def _like(value: JsonValue, pattern: str) -> Match:
    if value is None or isinstance(value, dict):
        return _DOUBT
    seen = readings(_text(value))
    loose = whole(f"(?i){glob(plain(pattern).casefold(), crossing=True)}")
    exact = {whole(glob(p, crossing=False)) for p in (pattern, plain(pattern))}
    certain = isinstance(value, str) and all(any(found(e, r) for e in exact) for r in seen)
    return Match(certain or any(found(loose, r.casefold()) for r in seen), certain)


def _matching(value: JsonValue, pattern: str) -> Match:
    """Possible where the pattern is found anywhere; certain where it matches the whole text."""
    if value is None or isinstance(value, dict):
        return _DOUBT
    seen = readings(_text(value))
    exact, loose = whole(pattern), f"(?i:{pattern})"
    certain = isinstance(value, str) and all(found(exact, r) for r in seen)
    possible = certain or any(found(loose, form) for r in seen for form in (r, r.casefold()))
    return Match(possible, certain)


def _within(value: JsonValue, minimum: int | str | None, maximum: int | str | None) -> Match:
    """A number that is not one, or not readable, may be any number."""
    if value is None or isinstance(value, dict | list):
        return _DOUBT
    actual = number({True: "1", False: "0"}[value] if isinstance(value, bool) else _text(value))
    if actual is None:
        return _DOUBT
    low = minimum is None or Decimal(minimum) <= actual
    high = maximum is None or actual <= Decimal(maximum)
    holds = low and high
    return Match(holds, holds and isinstance(value, int | float) and not isinstance(value, bool))

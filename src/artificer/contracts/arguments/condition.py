"""The conditions of ``[command.conditionals]``: a small language with a real grammar.

    or_    = and_ { "or" and_ }
    and_   = not_ { "and" not_ }
    not_   = "not" not_ | "(" or_ ")" | value [ compare value ]
    value  = name | 'text' | "text" | number | true | false
    compare= "==" | "!=" | "<" | "<=" | ">" | ">="

A name is an argument or a constant of the command; one without a value is the empty text. A value
alone is true unless it is empty, ``false`` or 0. ``==`` compares as written on a command line, the
orders compare numbers and are false for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from artificer.contracts.arguments.types import text_of
from artificer.values.base import JsonValue
from artificer.values.canon import MAX_SAFE_INTEGER

MAX_DEPTH = 20
"""Parentheses and ``not`` within each other."""

Compare = Literal["==", "!=", "<", "<=", ">", ">="]

_COMPARES: tuple[Compare, ...] = get_args(Compare)
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"[^"]*")|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?!\w))"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<sign>==|!=|<=|>=|<|>|\(|\)))""",
    re.ASCII,
)
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True, slots=True)
class ArgumentOperand:
    """A literal, or the value of what is called ``name``."""

    literal: str | int | float | bool = ""
    name: str | None = None

    def of(self, values: Mapping[str, JsonValue]) -> JsonValue:
        """Return its value: the empty text where there is none, or an empty list."""
        value = self.literal if self.name is None else values.get(self.name, "")
        return "" if value == [] else value


@dataclass(frozen=True, slots=True)
class ArgumentComparison:
    """A comparison, or a value alone."""

    left: ArgumentOperand
    compare: Compare | None = None
    right: ArgumentOperand = ArgumentOperand()

    def holds(self, values: Mapping[str, JsonValue]) -> bool:
        """Whether it is true of these values."""
        left, right = self.left.of(values), self.right.of(values)
        if self.compare is None:
            return left not in ("", "false", False, 0)
        if self.compare in _ORDERS:
            numbers = [v for v in (left, right) if isinstance(v, (int, float))]
            return len(numbers) == 2 and _ORDERS[self.compare](*numbers)
        return (text_of(left) == text_of(right)) is (self.compare == "==")


@dataclass(frozen=True, slots=True)
class ArgumentCondition:
    """A comparison, or conditions joined by ``and``, ``or`` or negated by ``not``."""

    join: Literal["and", "or", "not", "compare"] = "compare"
    parts: tuple[ArgumentCondition, ...] = ()
    test: ArgumentComparison | None = None

    def holds(self, values: Mapping[str, JsonValue]) -> bool:
        """Whether it is true of these values."""
        if self.test is not None:
            return self.test.holds(values)
        if self.join == "not":
            return not self.parts[0].holds(values)
        return (all if self.join == "and" else any)(part.holds(values) for part in self.parts)

    @property
    def names(self) -> frozenset[str]:
        """The names it asks for."""
        own = (self.test.left.name, self.test.right.name) if self.test else ()
        below = (name for part in self.parts for name in part.names)
        return frozenset(name for name in (*own, *below) if name is not None)


def parse_condition(text: str) -> ArgumentCondition:
    """Read a condition. Raises ValueError with what is wrong and where."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise ValueError(f"cannot be read from {text[place:].strip()[:20]!r} on")
            self._tokens.append((match.lastgroup or "", match[0].strip()))
            place = match.end()
        self._next = 0

    def parse(self) -> ArgumentCondition:
        found = self._joined("or", 0)
        if self._next < len(self._tokens):
            raise ValueError(f"has {self._tokens[self._next][1]!r} where it should end")
        return found

    def _taken(self, *texts: str) -> str | None:
        if self._next < len(self._tokens) and self._tokens[self._next][1] in texts:
            self._next += 1
            return self._tokens[self._next - 1][1]
        return None

    def _joined(self, join: Literal["and", "or"], depth: int) -> ArgumentCondition:
        def part() -> ArgumentCondition:
            return self._joined("and", depth) if join == "or" else self._not(depth)

        parts = [part()]
        while self._taken(join):
            parts.append(part())
        return parts[0] if len(parts) == 1 else ArgumentCondition(join=join, parts=tuple(parts))

    def _not(self, depth: int) -> ArgumentCondition:
        if depth > MAX_DEPTH:
            raise ValueError(f"is nested more than {MAX_DEPTH} deep")
        if self._taken("not"):
            return ArgumentCondition(join="not", parts=(self._not(depth + 1),))
        if self._taken("("):
            inner = self._joined("or", depth + 1)
            if not self._taken(")"):
                raise ValueError("has no ')' for a '('")
            return inner
        left = self._operand()
        for compare in _COMPARES:
            if self._taken(compare):
                return ArgumentCondition(test=ArgumentComparison(left, compare, self._operand()))
        return ArgumentCondition(test=ArgumentComparison(left))

    def _operand(self) -> ArgumentOperand:
        if self._next >= len(self._tokens):
            raise ValueError("ends where a value is missing")
        kind, text = self._tokens[self._next]
        if kind == "sign" or text in ("and", "or", "not"):
            raise ValueError(f"has {text!r} where a value is missing")
        self._next += 1
        if kind == "text":
            return ArgumentOperand(literal=text[1:-1])
        if kind == "number":
            value = float(text) if "." in text else int(text[:20])
            if abs(value) > MAX_SAFE_INTEGER:
                raise ValueError(f"has the number {text[:20]}, which is beyond 2**53 - 1")
            return ArgumentOperand(literal=value)
        return (
            ArgumentOperand(literal=text == "true")
            if text in ("true", "false")
            else ArgumentOperand(name=text)
        )

"""From a manifest's command and checked values to the argument vector of a process.

A template is split into items once, before any value is known: a value never leaves its own item,
whatever it holds (invariant 10; ``docs/manifests.md``, attacks 1 to 4 and 28).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from artificer.contracts.arguments.condition import Condition
from artificer.contracts.arguments.types import Argument, text_of
from artificer.values.base import JsonValue, Problem

_QUOTING = frozenset("'\"\\")
_BRACES = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an item: literal ``text``, or the value of the argument called ``name``."""

    text: str = ""
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One element of the argument vector, in pieces. :func:`item_of` makes it.

    ``names`` are the arguments whose values it holds, ``literal`` is its text if it holds none.
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...]
    literal: str | None


def item_of(parts: tuple[Part, ...]) -> Item:
    """An item of these pieces."""
    names = tuple(part.name for part in parts if part.name is not None)
    return Item(parts, names, None if names else "".join(part.text for part in parts))


@dataclass(frozen=True, slots=True)
class Flags:
    """The items that a mapping has for the value of an argument; none for a value it lacks."""

    argument: str
    choices: dict[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The argument whose value chooses."""
        return (self.argument,)


@dataclass(frozen=True, slots=True)
class Group:
    """Items that appear together or not at all.

    They are left out when one of their names has no value, or when the condition does not hold.
    A group within is for itself: it may be left out alone.
    """

    items: tuple[Item | Flags | Group, ...]
    when: Condition | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names whose values its own items need."""
        own = (item for item in self.items if not isinstance(item, Group))
        return tuple(name for item in own for name in item.names)

    @property
    def mentions(self) -> frozenset[str]:
        """Every name that it, its condition or a group within it asks for."""
        inner = (n for item in self.items if isinstance(item, Group) for n in item.mentions)
        return frozenset((*self.names, *inner, *(self.when.names if self.when else ())))


@dataclass(frozen=True)
class Built:
    """An argument vector, or the problems for which there is none."""

    argv: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def parse_item(text: str) -> Item:
    """Read ``{name}`` as a placeholder and ``{{name}}`` as the text ``{name}``."""
    if "{" not in text:
        return Item((Part(text),) if text else (), (), text)
    parts: list[Part] = []
    end = 0
    for match in _BRACES.finditer(text):
        parts.append(Part(text[end : match.start()]))
        escaped, name = match.groups()
        parts.append(Part(name=name) if name else Part("{" + escaped + "}"))
        end = match.end()
    parts.append(Part(text[end:]))
    return item_of(tuple(p for p in parts if p.name is not None or p.text))


def parse_template(template: str) -> tuple[Group, ...]:
    """Split a template as a shell would, quotes included, into one group per item.

    Raises ValueError for an unclosed quote.
    """
    return tuple(Group((parse_item(text),)) for text in split_words(template))


def split_words(text: str) -> list[str]:
    """Split a text as a shell would, quotes included. Raises ValueError for an unclosed quote."""
    if _QUOTING.isdisjoint(text):
        return text.split()  # the same, and many times faster than shlex
    return shlex.split(text)


def build_argv(
    groups: tuple[Group, ...],
    arguments: tuple[Argument, ...],
    values: Mapping[str, JsonValue],
) -> Built:
    """Put bound values into a command. An item with a list becomes an item for each of its values.

    The problems are those of values that would begin an option.
    """
    builder = _Builder({argument.name: argument for argument in arguments}, values)
    for group in groups:
        builder.add(group)
    if builder.problems:
        return Built(problems=tuple(builder.problems))
    return Built(argv=tuple(builder.argv))


class _Builder:
    def __init__(self, declared: Mapping[str, Argument], values: Mapping[str, JsonValue]) -> None:
        self._declared = declared
        self._values = values
        self._options_ended = False
        self.argv: list[str] = []
        self.problems: list[Problem] = []

    def add(self, group: Group) -> None:
        if group.when is not None and not group.when.holds(self._values):
            return
        if any(self._is_missing(name) for name in group.names):
            return
        for item in group.items:
            if isinstance(item, Group):
                self.add(item)
            elif isinstance(item, Flags):
                self._add_flags(item)
            else:
                self._add_item(item)

    def _is_missing(self, name: str) -> bool:
        return name not in self._values or self._values[name] == []

    def _add_flags(self, flags: Flags) -> None:
        for value in self._each(flags.argument):
            self.argv += flags.choices.get(text_of(value), ())

    def _add_item(self, item: Item) -> None:
        lists = [n for n in item.names if n in self._declared and self._declared[n].list]
        for value in self._each(lists[0]) if lists else (None,):
            own = {lists[0]: value} if lists else {}
            pieces = [_piece(part, {**self._values, **own}) for part in item.parts]
            culprit = None if self._options_ended else _option_by_value(pieces, self._declared)
            if culprit is not None:
                message = "must not begin with '-'"
                self.problems.append(Problem(pointer=f"/{culprit}", message=message))
            self.argv.append("".join(piece for piece, _ in pieces))
        self._options_ended = self._options_ended or item.literal == "--"  # not a value

    def _each(self, name: str) -> tuple[JsonValue, ...]:
        argument, value = self._declared.get(name), self._values[name]
        return argument.each(value) if argument else (value,)


def _piece(part: Part, values: Mapping[str, JsonValue]) -> tuple[str, str | None]:
    return (part.text if part.name is None else text_of(values[part.name]), part.name)


def begins_option(argument: Argument, text: str) -> bool:
    """Whether a text looks like an option by what was given, and not by what the manifest lists."""
    return text.startswith("-") and not argument.allow_dash and text not in argument.allowed


def _option_by_value(
    pieces: list[tuple[str, str | None]], declared: Mapping[str, Argument]
) -> str | None:
    """The argument whose value, and not the manifest, makes an item look like an option."""
    text, name = next(((t, n) for t, n in pieces if t), ("", None))
    argument = declared.get(name or "")
    return name if argument is not None and begins_option(argument, text) else None

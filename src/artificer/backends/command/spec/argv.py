"""From a manifest's command and checked values to the argument vector of a process.

A template is split into items once, before any value is known: a value never leaves its own item,
whatever it holds (invariant 10; ``docs/manifests.md``, attacks 1 to 4 and 28).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from artificer.contracts.arguments.condition import ArgumentCondition
from artificer.contracts.arguments.types import (
    FILES,
    Argument,
    begins_option,
    operand_of,
    text_of,
)
from artificer.values.base import JsonValue, Problem
from artificer.values.by_identity import ByIdentity

_QUOTING = frozenset("'\"\\")
_BRACES = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")


class ItemPart(NamedTuple):
    """A piece of an item: literal ``text``, or the value of the argument called ``name``."""

    text: str = ""
    name: str | None = None


class Item(NamedTuple):
    """One element of the argument vector, in pieces. :func:`item_of` makes it.

    ``names`` are the arguments whose values it holds. One that holds none has no pieces either:
    ``literal`` is its text.
    """

    parts: tuple[ItemPart, ...]
    names: tuple[str, ...]
    literal: str | None


def item_of(parts: tuple[ItemPart, ...]) -> Item:
    """An item of these pieces."""
    names = tuple(part.name for part in parts if part.name is not None)
    if not names:
        return Item((), (), "".join(part.text for part in parts))
    return Item(parts, names, None)


class Flags(NamedTuple):
    """The items that a mapping has for the value of an argument; none for a value it lacks."""

    argument: str
    choices: dict[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The argument whose value chooses."""
        return (self.argument,)


class Group(NamedTuple):
    """Items that appear together or not at all. :func:`group_of` makes it.

    They are left out when one of ``names``, those whose values its own items need, has no value,
    or when the condition does not hold. A group within is for itself: it may be left out alone.
    """

    items: tuple[Item | Flags | Group, ...]
    names: tuple[str, ...]
    when: ArgumentCondition | None


def group_of(
    items: tuple[Item | Flags | Group, ...], when: ArgumentCondition | None = None
) -> Group:
    """A group of these items."""
    names = tuple(n for item in items if not isinstance(item, Group) for n in item.names)
    return Group(items, names, when)


def names_of(groups: Iterable[Group]) -> frozenset[str]:
    """Every name that groups, groups within and conditions ask for."""
    placed = (name for item in items_of(groups) for name in item.names)
    return frozenset(placed).union(*(when.names for when in conditions_of(groups)))


def conditions_of(groups: Iterable[Group]) -> Iterator[ArgumentCondition]:
    """The conditions of groups and of those within."""
    for group in groups:
        if group.when is not None:
            yield group.when
        yield from conditions_of(item for item in group.items if isinstance(item, Group))


def items_of(groups: Iterable[Group]) -> Iterator[Item | Flags]:
    """All items, also those of groups within."""
    for group in groups:
        for item in group.items:
            if isinstance(item, Group):
                yield from items_of((item,))
            else:
                yield item


class Built(NamedTuple):
    """An argument vector, or the problems for which there is none."""

    argv: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def parse_item(text: str) -> Item:
    """Read ``{name}`` as a placeholder and ``{{name}}`` as the text ``{name}``."""
    if "{" not in text:
        return Item((), (), text)
    parts: list[ItemPart] = []
    end = 0
    for match in _BRACES.finditer(text):
        if before := text[end : match.start()]:
            parts.append(ItemPart(before))
        escaped, name = match.groups()
        parts.append(ItemPart(name=name) if name else ItemPart("{" + escaped + "}"))
        end = match.end()
    if end < len(text):
        parts.append(ItemPart(text[end:]))
    return item_of(tuple(parts))


def parse_template(template: str) -> tuple[Group, ...]:
    """Split a template as a shell would, quotes included, into one group per item.

    Raises ValueError for an unclosed quote.
    """
    return tuple(group_of((parse_item(text),)) for text in split_words(template))


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
    builder = _Builder(_declared(arguments), values)
    for group in groups:
        builder.add(group)
    if builder.problems:
        return Built(problems=tuple(builder.problems))
    return Built(argv=tuple(builder.argv))


class _Declared(NamedTuple):
    """The arguments of a manifest by name, and the names of those that are lists."""

    arguments: Mapping[str, Argument]
    lists: frozenset[str]


def _declare(arguments: tuple[Argument, ...]) -> _Declared:
    lists = frozenset(argument.name for argument in arguments if argument.list)
    return _Declared({argument.name: argument for argument in arguments}, lists)


_declared = ByIdentity(_declare)


class _Builder:
    __slots__ = ("_declared", "_lists", "_options_ended", "_values", "argv", "problems")

    def __init__(self, declared: _Declared, values: Mapping[str, JsonValue]) -> None:
        self._declared, self._lists = declared
        self._values = values
        self._options_ended = False
        self.argv: list[str] = []
        self.problems: list[Problem] = []

    def add(self, group: Group) -> None:
        items, names, when = group
        if when is not None and not when.holds(self._values):
            return
        for name in names:
            if name not in self._values or self._values[name] == []:
                return
        for item in items:
            if isinstance(item, Item):
                if item.literal is None:
                    self._add_item(item)
                else:
                    self.argv.append(item.literal)
                    self._options_ended = self._options_ended or item.literal == "--"
            elif isinstance(item, Flags):
                self._add_flags(item)
            else:
                self.add(item)

    def _add_flags(self, flags: Flags) -> None:
        for value in self._each(flags.argument):
            self.argv += flags.choices.get(text_of(value), ())

    def _add_item(self, item: Item) -> None:
        listed = next((n for n in item.names if n in self._lists), None) if self._lists else None
        if listed is None:
            self._append(item, self._values)
            return
        for value in self._each(listed):
            self._append(item, {**self._values, listed: value})

    def _append(self, item: Item, values: Mapping[str, JsonValue]) -> None:
        """Add an item, with paths as :func:`operand_of` writes them where a program reads one.

        Behind ``:`` the program has read a scheme or a revision already; there ``./`` would mean
        something else.
        """
        before, written = "", ""
        for text, name in item.parts:
            if name is None:
                before, written = before + text, written + text
                continue
            value = values[name]
            piece = operand = text_of(value)
            argument = self._declared.get(name)
            if argument is not None:
                if not before and piece.startswith("-") and not self._options_ended:
                    self._refuse_option(argument, piece)
                if argument.type in FILES and (not before or before.endswith("=")):
                    operand = operand_of(argument, value)
            before, written = before + piece, written + operand
        self.argv.append(written)

    def _refuse_option(self, argument: Argument, text: str) -> None:
        """Add a problem when a value, and not the manifest, makes an item look like an option."""
        if begins_option(argument, text):
            message = "must not begin with '-'"
            self.problems.append(Problem(pointer=f"/{argument.name}", message=message))

    def _each(self, name: str) -> tuple[JsonValue, ...]:
        argument, value = self._declared.get(name), self._values[name]
        return argument.each(value) if argument else (value,)

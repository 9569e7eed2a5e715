"""From a manifest's command and checked values to the argument vector of a process.

A template is split into items once, before any value is known: a value never leaves its own item,
whatever it holds (invariant 10; ``research/toolclad.md`` section 3, attacks 1 to 4 and 28).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from artificer.contracts.arg_types import Argument, refusal, text_of
from artificer.values.base import JsonValue, Problem, Value

_BRACES = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")


class Part(Value):
    """A piece of an item: literal ``text``, or the value of the argument called ``name``."""

    text: str = ""
    name: str | None = None


class Item(Value):
    """One element of the argument vector, in pieces."""

    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments whose values it holds."""
        return tuple(part.name for part in self.parts if part.name is not None)

    @property
    def literal(self) -> str | None:
        """Its text, if it holds no value."""
        return None if self.names else "".join(part.text for part in self.parts)


class Flags(Value):
    """The items that a mapping has for the value of an argument; none for a value it lacks."""

    argument: str
    choices: dict[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The argument whose value chooses."""
        return (self.argument,)


class Group(Value):
    """Items that appear together or, when one of their arguments has no value, not at all."""

    items: tuple[Item | Flags, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments whose values it holds."""
        return tuple(name for item in self.items for name in item.names)


@dataclass(frozen=True)
class Built:
    """An argument vector, or the problems for which there is none."""

    argv: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def parse_item(text: str) -> Item:
    """Read ``{name}`` as a placeholder and ``{{name}}`` as the text ``{name}``."""
    parts: list[Part] = []
    end = 0
    for match in _BRACES.finditer(text):
        parts.append(Part(text=text[end : match.start()]))
        escaped, name = match.groups()
        parts.append(Part(name=name) if name else Part(text="{" + escaped + "}"))
        end = match.end()
    parts.append(Part(text=text[end:]))
    return Item(parts=tuple(p for p in parts if p.name is not None or p.text))


def parse_template(template: str) -> tuple[Group, ...]:
    """Split a template as a shell would, quotes included, into one group per item.

    Raises ValueError for an unclosed quote.
    """
    return tuple(Group(items=(parse_item(text),)) for text in shlex.split(template))


def build_argv(
    groups: tuple[Group, ...],
    arguments: tuple[Argument, ...],
    constants: Mapping[str, JsonValue],
    given: Mapping[str, JsonValue],
) -> Built:
    """Put values into a command.

    A name's value is what the call gives, else the argument's default, else the constant of that
    name. A group with a name that has no value is left out.
    """
    values = dict(constants)
    values |= {a.name: a.default for a in arguments if a.default is not None}
    values |= given
    declared = {argument.name: argument for argument in arguments}
    problems = [
        p for name, value in given.items() if (p := _problem(declared.get(name), name, value))
    ]
    argv: list[str] = []
    options_ended = False
    for group in groups:
        if all(name in values for name in group.names):
            for item in group.items:
                if isinstance(item, Flags):
                    argv += item.choices.get(text_of(values[item.argument]), ())
                    continue
                pieces = [_piece(part, values) for part in item.parts]
                culprit = None if options_ended else _option_by_value(pieces, declared)
                if culprit is not None:
                    message = "must not begin with '-'"
                    problems.append(Problem(pointer=f"/{culprit}", message=message))
                options_ended = options_ended or item.literal == "--"  # the manifest's, no value
                argv.append("".join(piece for piece, _ in pieces))
    return Built(problems=tuple(problems)) if problems else Built(argv=tuple(argv))


def _problem(argument: Argument | None, name: str, value: JsonValue) -> Problem | None:
    reason = refusal(argument, value) if argument else "is not a known parameter"
    return Problem(pointer=f"/{name}", message=reason) if reason else None


def _piece(part: Part, values: Mapping[str, JsonValue]) -> tuple[str, str | None]:
    return (part.text if part.name is None else text_of(values[part.name]), part.name)


def _option_by_value(
    pieces: list[tuple[str, str | None]], declared: Mapping[str, Argument]
) -> str | None:
    """The argument whose value, and not the manifest, makes an item look like an option."""
    text, name = next(((t, n) for t, n in pieces if t), ("", None))
    argument = declared.get(name or "")
    if not text.startswith("-") or argument is None:
        return None
    by_manifest = argument.allow_dash or text in argument.allowed
    return None if by_manifest else name

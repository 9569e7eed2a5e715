"""From a session command and checked values to the one line that the program is sent."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from artificer.contracts.addresses import network_of
from artificer.contracts.arguments.bind import bind
from artificer.contracts.arguments.types import Argument, operand_of, text_of
from artificer.contracts.schema import compile_schema
from artificer.contracts.scope import Scope
from artificer.values.base import JsonValue, Problem

MAX_LINE_BYTES = 4_000
"""Bytes of a line: Linux drops what exceeds 4,095 of them in a terminal's line (termios(3))."""

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_WORDS = re.compile(r"[^\s'\"`,;()<>|&{}=]+")
_BOUNDS = re.compile(r"[@/\\\[\]#*?!%^~+]+")


@dataclass(frozen=True)
class BuiltLine:
    """A line without its newline, or the problems for which there is none."""

    text: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class LineForm:
    """How a session command makes its line: values in a template, the whole held to a pattern."""

    template: str
    arguments: tuple[Argument, ...]
    pattern: str | None = None
    extract_target: bool = False
    scope: Scope | None = None

    def line(self, arguments: Mapping[str, JsonValue]) -> BuiltLine:
        """The line for arguments that have passed the input schema."""
        bound = bind(self.arguments, {}, arguments, self.scope)
        if bound.problems:
            return BuiltLine(problems=bound.problems)
        text = fill(self.template, self._written(bound.values))
        reasons = list(self._refusals(text))
        if reasons:
            where = "/command" if self.template == "{command}" else ""
            return BuiltLine(problems=tuple(Problem(pointer=where, message=r) for r in reasons))
        return BuiltLine(text)

    def _written(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        bound = (argument for argument in self.arguments if argument.name in values)
        return {argument.name: operand_of(argument, values[argument.name]) for argument in bound}

    def _refusals(self, text: str) -> Iterator[str]:
        for character in text:
            if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
                yield f"holds the control character U+{ord(character):04X}"
                return
        if len(text.encode()) > MAX_LINE_BYTES:
            yield f"makes a line of more than {MAX_LINE_BYTES} bytes"
        if self.pattern is not None and not matches(whole(self.pattern), text):
            yield f"makes a line that does not match {self.pattern!r}"
        if self.extract_target:
            yield from self._out_of_scope(text)

    def _out_of_scope(self, text: str) -> Iterator[str]:
        if self.scope is None:
            yield "is out of scope: the folder's toolclad.toml has no [scope]"
            return
        found = targets(text)
        if not found:
            yield "names no target that could be held to the scope"
        for target in found:
            if reason := self.scope.refusal(target):
                yield f"{target!r} {reason}"


def fill(template: str, values: Mapping[str, JsonValue]) -> str:
    """Put values into a template once: what a value holds is never read for placeholders."""

    def written(found: re.Match[str]) -> str:
        name = found[1]
        return found[0][0] if name is None else text_of(values.get(name, ""))

    return _PLACEHOLDER.sub(written, template)


def placeholders(template: str) -> tuple[str, ...]:
    """The names that a template asks for, in order."""
    return tuple(found[1] for found in _PLACEHOLDER.finditer(template) if found[1])


def targets(text: str) -> tuple[str, ...]:
    """The parts of a line that name something on a network, or may do so to the program.

    Whatever has a dot or two colons within it is one. What is none that a scope can hold, it
    refuses.
    """
    found = (target for word in _WORDS.findall(text) for target in _targets_in(word))
    return tuple(dict.fromkeys(found))


def _targets_in(word: str) -> Iterator[str]:
    if "://" in word or network_of(word):
        yield word
        return
    for part in _BOUNDS.split(word):
        if part.strip(":").count(":") > 1:
            yield part
        else:
            yield from (name for name in part.split(":") if "." in name.strip("."))


def whole(pattern: str) -> str:
    """The pattern, for the whole of a text."""
    return f"^(?:{pattern})$"


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern occurs in a text, found in linear time.

    Raises ToolDefinitionError for a pattern that this engine does not support.
    """
    return not compile_schema({"type": "string", "pattern": pattern}).problems(text)

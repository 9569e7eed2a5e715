"""A command that a model writes as one line, read as argv without a shell (invariant 10)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from artificer.artifacts.fields import text_field
from artificer.values.base import JsonValue, Problem

MAX_COMMAND = 400

_OPERATORS = frozenset("();<>|&")
_EXPANDED = frozenset("$`")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")

_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\]")

_RULE = (
    "it is run without a shell: one program with its arguments, no pipes, redirections,"
    " variables or &&"
)


def command_field(description: str) -> Any:
    """Return the rules of a command line."""
    return text_field(MAX_COMMAND, description)


def split_command(line: str) -> tuple[str, ...] | str:
    """Return the argv of a command line, or a sentence that says why it cannot be split."""
    if any(c < " " or c == "\x7f" for c in line):
        return f"holds a line end or a control character; {_RULE}"
    try:
        words = _words(line)
    except ValueError as error:
        return f"cannot be read: {str(error).lower()}"
    if any(set(word) <= _OPERATORS for word in words if word):
        return f"holds shell syntax; {_RULE}"
    if _EXPANDED & set(_unquoted(line)):
        return f"holds $ or ` outside single quotes; {_RULE}"
    if not words or not words[0] or _ASSIGNMENT.match(words[0]):
        return f"must begin with a program; {_RULE}"
    return tuple(words)


def command_problems(value: JsonValue, pointer: str) -> Iterator[Problem]:
    """Yield why a command line is refused. (The schema reports the empty one.)"""
    if isinstance(value, str) and value and isinstance(reason := split_command(value), str):
        yield Problem(pointer=pointer, message=reason, actual=value[:80])


def allowed_pattern(commands: Sequence[str]) -> str:
    """Return a schema pattern for command lines that begin with one of ``commands``."""
    ways = "|".join(_SPECIAL.sub(r"\\\g<0>", " ".join(command.split())) for command in commands)
    return f"^({ways})( .*)?$"


def is_allowed(argv: Sequence[str], commands: Sequence[str]) -> bool:
    """Return whether argv begins with the words of one of ``commands``, or there are none."""
    starts = [tuple(shlex.split(command)) for command in commands]
    return not starts or any(tuple(argv[: len(start)]) == start for start in starts)


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _unquoted(line: str) -> str:
    """Return the line without its single-quoted parts, in which a shell expands nothing."""
    kept, double, single = [], False, False
    for character in line:
        if character == "'" and not double:
            single = not single
        elif character == '"' and not single:
            double = not double
        elif not single:
            kept.append(character)
    return "".join(kept)

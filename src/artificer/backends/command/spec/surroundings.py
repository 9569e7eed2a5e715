"""Inputs of a command besides its arguments: variables, standard input and a working folder.

A secret is named here and found when the program starts: it is in no command line, which every
process of the machine can read, and in no record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from artificer.backends.command.spec.keys import CommandKeys
from artificer.contracts.arguments.check import Fault
from artificer.contracts.arguments.types import FILES, Argument, operand_of, text_of
from artificer.contracts.secret_marks import mark_of
from artificer.manifests.keys import CALL_PLACES, PLACES
from artificer.values.base import JsonValue

_PARTS = re.compile(r"\{\{(\w+)\}\}|\{_secret:(\w+)\}|\{(\w+)\}")
_SECRET = re.compile(r"\{_secret:\w+\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS = ("ARTIFICER_", "TOOLCLAD_")
_LOADERS = re.compile(
    r"PATH|IFS|ENV|BASH_ENV|SHELLOPTS|PS4|SHELL|EDITOR|VISUAL|PAGER|BROWSER|SSH_ASKPASS|GCONV_PATH"
    r"|_?J\w+_OPTIONS|(?:LD|DYLD|GIT)_\w+|PYTHON(?:PATH|STARTUP|HOME|INSPECT|BREAKPOINT|WARNINGS)"
    r"|PERL\w*(?:LIB|OPT|DB)|RUBY(?:OPT|LIB)|NODE_(?:OPTIONS|PATH)"
)
"""Variables that name programs or libraries to load, or commands to run."""


class ValuePart(NamedTuple):
    """A piece of a value: literal ``text``, an argument's value, or a ``secret`` by its name."""

    text: str = ""
    name: str | None = None
    secret: str | None = None


Parts = tuple[ValuePart, ...]


class Surroundings(NamedTuple):
    """The inputs of a command besides its arguments; ``env_pass`` are names that it inherits."""

    env: tuple[tuple[str, Parts], ...] = ()
    env_pass: tuple[str, ...] = ()
    stdin: Parts | None = None
    cwd: Parts | None = None

    @property
    def parts(self) -> Parts:
        """Every piece of every value."""
        return (
            *(p for _, value in self.env for p in value),
            *(self.stdin or ()),
            *(self.cwd or ()),
        )

    @property
    def names(self) -> frozenset[str]:
        """The arguments, constants and places that values use."""
        return frozenset(part.name for part in self.parts if part.name is not None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets, each once."""
        return tuple(dict.fromkeys(part.secret for part in self.parts if part.secret is not None))


NOTHING_ELSE = Surroundings()
"""The inputs of a command that gets its arguments only."""


def read_surroundings(keys: CommandKeys) -> Surroundings:
    """Return the inputs that the keys describe; :func:`surroundings_faults` checks them."""
    return Surroundings(
        tuple((name, _parsed(value)) for name, value in keys.env.items()),
        keys.env_pass,
        None if keys.stdin is None else _parsed(keys.stdin),
        None if keys.cwd is None else _parsed(keys.cwd),
    )


def _parsed(text: str) -> Parts:
    parts: list[ValuePart] = []
    end = 0
    for match in _PARTS.finditer(text):
        if match.start() > end:
            parts.append(ValuePart(text[end : match.start()]))
        escaped, secret, name = match.groups()
        literal = "{" + escaped + "}" if escaped else ""
        parts.append(ValuePart(literal, name, secret))
        end = match.end()
    if end < len(text):
        parts.append(ValuePart(text[end:]))
    return tuple(parts)


def filled(
    parts: Parts,
    values: Mapping[str, JsonValue],
    arguments: Mapping[str, Argument],
    secrets: Mapping[str, str] | None = None,
) -> str | None:
    """Return a value with its arguments; None if one of them is absent.

    Without ``secrets``, a mark replaces each.
    """
    texts: list[str] = []
    for part in parts:
        if part.secret is not None:
            texts.append(mark_of(part.secret) if secrets is None else secrets[part.secret])
        elif part.name is None:
            texts.append(part.text)
        elif part.name not in values:
            return None
        else:
            value, argument = values[part.name], arguments.get(part.name)
            of_file = argument is not None and argument.type in FILES
            texts.append(operand_of(argument, value) if argument and of_file else text_of(value))
    return "".join(texts)


# --- checks -----------------------------------------------------------------------------------


def surroundings_faults(
    keys: CommandKeys, inputs: Surroundings, arguments: Mapping[str, Argument]
) -> Iterator[Fault]:
    """Yield the faults in the inputs of a command."""
    known = {*arguments, *keys.defaults, *PLACES, *CALL_PLACES}
    path: tuple[str, ...]
    for name, parts in inputs.env:
        path = ("command", "env", name)
        yield from (Fault(path, why) for why in _variable_faults(name))
        yield from (Fault(path, why) for why in _value_faults(parts, known, arguments))
        if _LOADERS.fullmatch(name) and any(p.name in arguments for p in parts):
            why = "decides which programs or libraries are loaded: no argument may choose it"
            yield Fault(path, why)
    for name in inputs.env_pass:
        path = ("command", "env_pass")
        yield from (Fault(path, f"{name} {why}") for why in _variable_faults(name))
        if name in keys.env:
            yield Fault(path, f"{name} is also in env")
    if inputs.stdin is not None:
        found = _value_faults(inputs.stdin, known, arguments)
        yield from (Fault(("command", "stdin"), why) for why in found)
    if inputs.cwd is not None:
        found = _folder_faults(inputs.cwd, arguments)
        yield from (Fault(("command", "cwd"), why) for why in found)
    yield from _secret_faults(keys)


def _variable_faults(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield "is not the name of a variable"
    elif name.startswith(_OURS):
        yield "is set by Artificer: choose a name that begins otherwise"


def _value_faults(
    parts: Parts, known: set[str], arguments: Mapping[str, Argument]
) -> Iterator[str]:
    for part in parts:
        argument = arguments.get(part.name or "")
        if "\0" in part.text:
            yield "holds a NUL character"
        if part.name is not None and part.name not in known:
            name = part.name
            yield f"{{{name}}} is not an argument; write {{{{{name}}}}} for the text itself"
        if argument and argument.list:
            yield f"{{{argument.name}}} is a list, which is not one text"
        if argument and argument.type in FILES and len(parts) > 1:
            yield f"joins other text to the path {{{argument.name}}}"


def _folder_faults(cwd: Parts, arguments: Mapping[str, Argument]) -> Iterator[str]:
    first = cwd[0]
    argument = arguments.get(first.name or "")
    if len(cwd) != 1 or first.secret or (first.name and argument is None):
        yield "must be one argument of the type 'path', or a folder in the working folder"
    elif argument is not None and (argument.type != "path" or argument.list):
        yield f"{{{argument.name}}} must be one value of the type 'path'"
    elif first.text.startswith(("/", "~")) or ".." in first.text.split("/"):
        yield "must be a relative path in the working folder, without '..'"


def _secret_faults(keys: CommandKeys) -> Iterator[Fault]:
    """Secrets in the command line, which every process of this machine can read."""
    texts = [("template", keys.template or "")]
    texts += [
        ("exec", text)
        for item in keys.exec or ()
        for text in ((item,) if isinstance(item, str) else item)
    ]
    texts += [("mappings", text) for m in keys.mappings.values() for text in m.values()]
    texts += [("conditionals", c.template) for c in keys.conditionals.values()]
    texts += [("defaults", str(value)) for value in keys.defaults.values()]
    for place, text in texts:
        if _SECRET.search(text):
            why = "holds a secret, which every process could read there: use 'env' or 'stdin'"
            yield Fault(("command", place), why)

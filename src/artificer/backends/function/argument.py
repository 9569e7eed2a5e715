"""The parameters of a function as arguments that a model gives, and what makes one unusable."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from artificer.errors import ToolDefinitionError
from artificer.values.base import Problem

Function = Callable[..., Any]

REQUIRED = inspect.Parameter.empty
"""The default of an argument that has none."""

_PARAMETER = re.compile(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s+(.+)$")
_SECTION = re.compile(
    r"^\s*(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$"
)


class FunctionArgument(Struct, frozen=True):
    """One argument: its name, its type hint, its default, and what the docstring says of it."""

    name: str
    hint: Any
    default: Any
    documented: str | None


class InvalidArgumentsError(Exception):
    """Arguments that the schema accepts and the types do not, with all their problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


def unusable(function: Function, reason: str, hint: str | None = None) -> ToolDefinitionError:
    """The error that names a function, its file and its line."""
    code = getattr(function, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    name = getattr(function, "__qualname__", repr(function))
    return ToolDefinitionError(f"The tool function {name!r}{place} {reason}.", hint=hint)


def description_of(function: Function) -> str:
    """The first paragraph of the docstring, as one line; empty when there is none."""
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def parameter_docs(docstring: str) -> dict[str, str]:
    """Descriptions of parameters in Google's (``Args:``) or Sphinx's (``:param x:``) style."""
    found: dict[str, str] = {}
    in_arguments, name = False, None
    for line in docstring.splitlines():
        if section := _SECTION.match(line):
            in_arguments, name = section[1] in ("Args", "Arguments", "Parameters"), None
        elif (in_arguments or line.lstrip().startswith(":param ")) and (
            match := _PARAMETER.match(line)
        ):
            name = match[1]
            found[name] = match[2].strip()
        elif in_arguments and name and line.startswith("        "):
            found[name] += " " + line.strip()
        else:
            name = None
    return found

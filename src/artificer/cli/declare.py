"""Declaring a command: a class whose fields are its options and whose docstring is its help.

Showing help and parsing a command line need the declaration only. The function that does the work
is named by a string and imported when the command runs, so ``--help`` imports click and little
else: keep this file light.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from inspect import cleandoc
from typing import Any, TypeVar, dataclass_transform

import click

from artificer.cli.settings import Settings

T = TypeVar("T")

_PARAMETER = "click"
"""The key under which a field's metadata holds its parameter: class, names and attributes."""


def option(*names: str, **attributes: Any) -> Any:
    """Declare a field that is an option. Without names it is ``--`` and the field's name."""
    return field(metadata={_PARAMETER: (click.Option, names, attributes)})


def argument(**attributes: Any) -> Any:
    """Declare a field that is an argument."""
    return field(metadata={_PARAMETER: (click.Argument, (), attributes)})


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option, argument))
def options(declared: type[T]) -> type[T]:
    """Make the fields of a class the options of a command, or a group that commands share."""
    return dataclass(frozen=True, kw_only=True)(declared)


class Command(click.Command):
    """A command: its name, its options, and the function that does the work.

    ``work`` is a function below ``artificer.cli``, as ``module:function``. It is called with the
    settings and the options, and returns an exit code.
    """

    def __init__(self, name: str, declared: type[Any], work: str) -> None:
        super().__init__(name, params=_parameters(declared), help=cleandoc(declared.__doc__ or ""))
        self.declared = declared
        self.work = work

    def invoke(self, ctx: click.Context) -> int:
        """Import the function that does the work and call it."""
        module, _, function = self.work.partition(":")
        work = getattr(import_module(f"artificer.cli.{module}"), function)
        settings = ctx.find_object(Settings) or Settings()
        code: int = ctx.invoke(work, settings, self.declared(**ctx.params))
        return code


def _parameters(declared: type[Any]) -> list[click.Parameter]:
    """The parameters of a class: inherited arguments first, inherited options last."""
    found: list[click.Parameter] = []
    for part in declared.__mro__:
        own = [
            _parameter(name, vars(part)["__dataclass_fields__"][name].metadata[_PARAMETER])
            for name in vars(part).get("__annotations__", {})
        ]
        arguments = [parameter for parameter in own if isinstance(parameter, click.Argument)]
        found = [*arguments, *found, *(p for p in own if not isinstance(p, click.Argument))]
    return found


def _parameter(
    name: str, parameter: tuple[type[Any], tuple[str, ...], dict[str, Any]]
) -> click.Parameter:
    kind, names, attributes = parameter
    if kind is click.Option and not names:
        names = (f"--{name.replace('_', '-')}",)
    made: click.Parameter = kind([*names, name], **attributes)
    return made

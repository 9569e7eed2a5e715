"""Declaring a command: a class whose fields are its options and whose docstring is its help.

Showing help and parsing a command line need the declaration only. The function that does the work
is named by a string and imported when the command runs, so ``--help`` imports click and little
else: keep this file light.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Coroutine
from importlib import import_module
from inspect import cleandoc
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import click

from artificer.cli.settings import Settings

T = TypeVar("T")

COLLECT_EVERY = 20_000
"""New objects before the garbage collector looks at them; Python's own threshold is 700.

Values are left to reference counts, so there is little for it to find, and among a thousand runs
looking takes a fifth of the time.
"""


class DeclaredParameter(NamedTuple):
    """An option or argument: its class, its names and its attributes."""

    kind: type[click.Parameter]
    names: tuple[str, ...]
    attributes: dict[str, Any]


def option(*names: str, **attributes: Any) -> Any:
    """Declare a field that is an option. Without names it is ``--`` and the field's name."""
    return DeclaredParameter(click.Option, names, attributes)


def argument(**attributes: Any) -> Any:
    """Declare a field that is an argument."""
    return DeclaredParameter(click.Argument, (), attributes)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option, argument))
def options(declared: type[T]) -> type[T]:
    """Make the fields of a class the options of a command, or a group that commands share.

    An instance holds the values by name. A dataclass would do no more, and the dozen in a module
    would take longer to define than the module takes to import.
    """
    declared.__init__ = _set_values  # type: ignore[method-assign]
    return declared


def _set_values(self: object, **values: Any) -> None:
    vars(self).update(values)


class Command(click.Command):
    """A command: its name, its options, and the function that does the work.

    ``work`` is a function below ``artificer.cli``, as ``module:function``. It is called with the
    settings and the options, and returns an exit code. It may be asynchronous.
    """

    def __init__(self, name: str, declared: type[Any], work: str) -> None:
        super().__init__(name, params=_parameters(declared), help=cleandoc(declared.__doc__ or ""))
        self.declared = declared
        self.work = work

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line; an error names the command."""
        try:
            rest = super().parse_args(ctx, args)
            for parameter in self.params:
                _refuse_bytes(parameter, ctx)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise
        return rest

    def invoke(self, ctx: click.Context) -> int:
        """Import the function that does the work and call it."""
        module, _, function = self.work.partition(":")
        work = getattr(import_module(f"artificer.cli.{module}"), function)
        settings = ctx.find_object(Settings) or Settings()
        if not gc.isenabled():  # the whole program is this command: see `main`
            gc.freeze()
            gc.set_threshold(COLLECT_EVERY)
            gc.enable()
        code: int = ctx.invoke(_perform, work, settings, self.declared(**ctx.params))
        return code


def _refuse_bytes(parameter: click.Parameter, ctx: click.Context) -> None:
    """Refuse a text that is not UTF-8: no record holds it. A path may be of any bytes."""
    value = ctx.params.get(parameter.name or "")
    for word in value if isinstance(value, tuple) else (value,):
        if isinstance(word, str) and any("\ud800" <= c <= "\udfff" for c in word):
            raise click.BadParameter("it is not UTF-8.", ctx, parameter)


def _perform(work: Callable[[Settings, Any], Any], settings: Settings, options: Any) -> Any:
    """Do a command's work; asynchronous work on an event loop of its own."""
    done = work(settings, options)
    if isinstance(done, Coroutine):
        return import_module("artificer.cli.interruptible").run_async(done)
    return done


def _parameters(declared: type[Any]) -> list[click.Parameter]:
    """The parameters of a class: inherited arguments first, inherited options last."""
    found: list[click.Parameter] = []
    for part in declared.__mro__:
        own = [_parameter(name, vars(part)[name]) for name in vars(part).get("__annotations__", {})]
        arguments = [parameter for parameter in own if isinstance(parameter, click.Argument)]
        found = [*arguments, *found, *(p for p in own if not isinstance(p, click.Argument))]
    return found


def _parameter(name: str, declared: DeclaredParameter) -> click.Parameter:
    kind, names, attributes = declared
    if kind is click.Option and not names:
        names = (f"--{name.replace('_', '-')}",)
    made: click.Parameter = kind([*names, name], **attributes)
    return made

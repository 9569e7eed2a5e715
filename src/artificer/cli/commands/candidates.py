"""Words that a shell completes: ids of runs, names of models, names of tools.

The functions that look for them are imported when a word is completed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from artificer.cli.declare import argument, option
from artificer.cli.settings import Settings


def _from(function: str) -> Callable[..., list[str]]:
    """Return what completes a word with the words of a function of ``setup.candidates``."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        look = getattr(import_module("artificer.cli.setup.candidates"), function)
        outermost = ctx.find_root().params
        settings = Settings(outermost.get("home"), outermost.get("project"))
        try:
            words = look(settings, ctx.params)
        except Exception:  # noqa: BLE001  # boundary: an error would be written into the line
            return []
        return [word for word in words if word.startswith(incomplete)]

    return complete


def run_argument(**attributes: Any) -> Any:
    """Declare a field that is the id of a run."""
    return argument(shell_complete=_from("runs"), **attributes)


def run_option(*names: str, **attributes: Any) -> Any:
    """Declare an option that is the id of a run."""
    return option(*names, shell_complete=_from("runs"), **attributes)


def model_option(**attributes: Any) -> Any:
    """Declare ``--model``, a ``provider/model``."""
    return option(metavar="PROVIDER/MODEL", shell_complete=_from("models"), **attributes)


def models_option(help: str) -> Any:
    """Declare ``--model``, repeatable: the model, then its fallbacks."""
    return model_option(multiple=True, help=f"{help} Repeat it for fallbacks.")


def tool_argument(**attributes: Any) -> Any:
    """Declare a field that is the name of a tool."""
    return argument(shell_complete=_from("tools"), **attributes)


def tool_option(*names: str, **attributes: Any) -> Any:
    """Declare an option that is the name of a tool."""
    return option(*names, shell_complete=_from("tools"), metavar="TOOL", **attributes)

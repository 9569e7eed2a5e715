"""A command line that cannot be read: the option that was meant, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click


def correction(error: click.ClickException, arguments: list[str]) -> tuple[str, str]:
    """Return what is wrong with a command line, and the hint that leads on."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = context.command_path if context else "artificer"
    see = f"See `{where} --help`."
    if isinstance(error, click.NoSuchOption) and context:
        return f"{error.message.rstrip('.')} for `{where}`.", _place(error, context, arguments, see)
    return error.format_message(), see


def _place(
    error: click.NoSuchOption, context: click.Context, arguments: list[str], see: str
) -> str:
    """Say where an option belongs, or which one may have been meant."""
    name, root = error.option_name, context.find_root()
    everywhere = [] if context is root else _names(root.command)
    if name in everywhere:
        return _before(name, root, context)
    if context is root and (command := _command(root, arguments, name)):
        return f"It belongs after the command: `artificer {command} {name} …`."
    here = _names(context.command)
    bare = {found.lstrip("-"): found for found in (*everywhere, *here)}
    close = get_close_matches(name.lstrip("-").replace("_", "-"), bare, n=1)
    if not close:
        return see
    meant = bare[close[0]]
    if meant not in here:
        return f"Did you mean {meant}? {_before(meant, root, context)}"
    return f"Did you mean {meant}? {see}"


def _before(name: str, root: click.Context, context: click.Context) -> str:
    option = next(o for o in root.command.get_params(root) if name in o.opts)
    value = "" if getattr(option, "is_flag", False) else f" {option.metavar or '…'}"
    words = context.command_path.split()[1:]
    return f"It belongs before the command: `artificer {name}{value} {' '.join(words)} …`."


def _command(root: click.Context, arguments: list[str], name: str) -> str | None:
    """Return the command on the line, if it has the option."""
    group = root.command
    assert isinstance(group, click.Group)
    for word in arguments:
        if word in group.list_commands(root):
            command = group.get_command(root, word)
            return word if command and name in _names(command) else None
    return None


def _names(command: click.Command) -> Iterable[str]:
    return [name for option in command.params for name in (*option.opts, *option.secondary_opts)]

"""``artificer completion``: print the completion script of a shell."""

from __future__ import annotations

from click.shell_completion import ShellComplete, get_completion_class

from artificer.cli.commands.setup import CompletionOptions
from artificer.cli.main import cli
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import out
from artificer.cli.terminal.exits import Exit

VARIABLE = "_ARTIFICER_COMPLETE"
"""The variable with which the script calls the program."""


def completion(settings: Settings, options: CompletionOptions) -> Exit:
    """Print the script."""
    kind = get_completion_class(options.shell)
    assert kind is not None
    # Not the shell's own `source`, which would start the shell to check its version.
    out(ShellComplete.source(kind(cli, {}, "artificer", VARIABLE)))
    return Exit.OK

"""``artificer init``: write a commented ``artificer.toml``, and make a world at a URL."""

from __future__ import annotations

import click

from artificer.cli.commands.setup import InitOptions
from artificer.cli.settings import Settings
from artificer.cli.setup.databases import needs_world
from artificer.cli.setup.settings_file import write
from artificer.cli.terminal.exits import Exit


def init(settings: Settings, options: InitOptions) -> Exit:
    """Write the file into the working directory and print its path.

    Raises:
        ConfigError: there is one, or the model has no provider.
    """
    if options.restored and options.new_id:
        raise click.UsageError("--restored and --new-id exclude each other.")
    if options.world is not None:
        from artificer.cli.setup.init_world import init_world

        return init_world(settings, options, options.world)
    if needs_world(options):
        raise click.UsageError(
            "--role, --reader, --print-sql, --restored and --new-id need --world URL."
        )
    write(settings, options.model)
    return Exit.OK

"""The command that serves the studio."""

from __future__ import annotations

import click

from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.declare import Command, option, options


@options
class StudioOptions(ExecutionOptions):
    """Watch runs form, decide and look back, in the browser.

    Prints an address with a key that opens the studio on this machine. Ctrl-C stops it; runs that
    are under way can be resumed, here or with `artificer resume`.

    \b
    Examples:
      artificer studio
      artificer studio --port 9000 --no-open
    """

    port: int = option(
        type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes a free one."
    )
    open_browser: bool = option(
        "--open/--no-open", default=True, help="Open the address in a browser."
    )


studio = Command("studio", StudioOptions, "studio.serve:serve")

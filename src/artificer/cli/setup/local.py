"""``artificer local``: download the embedded model."""

from __future__ import annotations

from artificer.cli.commands.setup import FetchOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.providers.local_fetch import fetch


def fetch_model(settings: Settings, options: FetchOptions) -> Exit:
    """Download the model and print its path."""
    path = fetch(configuration(settings).home, lambda step: note(f"{step} …"))
    out(str(path))
    return Exit.OK

"""``artificer tools check``: read folders of manifests as a run would."""

from __future__ import annotations

from artificer.backends.loader import load_folder
from artificer.cli.commands.tools import CheckToolsOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.errors import ManifestError


def check(settings: Settings, options: CheckToolsOptions) -> Exit:
    """Print every fault; return 4 if there are any."""
    config = configuration(settings)
    compat = options.compat or config.tools_compat
    bad = 0
    for folder in options.folders:
        try:
            tools = load_folder(folder, compat=compat, trusted_keys=config.tools_keys)
        except ManifestError as error:
            bad += 1
            out(error.message, "bad")
            continue
        for tool in tools:
            for warning in tool.manifest.warnings:
                note(f"warning: {warning}")
        out(f"{folder}: {len(tools)} tools", "good")
    return Exit.AUTHOR if bad else Exit.OK

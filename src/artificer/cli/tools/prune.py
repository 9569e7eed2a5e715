"""``artificer tools prune``: remove the files that tools wrote in old runs."""

from __future__ import annotations

from artificer.backends.call_folders import prune as prune_folder
from artificer.cli.commands.tools import PruneToolsOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.errors import OperatorError
from artificer.system.removal import in_short


def prune(settings: Settings, options: PruneToolsOptions) -> Exit:
    """Remove the folders and print their number; an error names what could not be removed."""
    folder = configuration(settings).project_folder / "evidence"
    removed, left = prune_folder(folder, older_than_days=options.days)
    note(f"removed the folders of {count(len(removed), 'run')}")
    if left:
        raise OperatorError(
            f"Files that tools wrote could not be removed. {in_short(left)}",
            hint="Make them removable, then repeat the command.",
        )
    return Exit.OK

"""``artificer workspace checkout`` and ``commit``: workspaces and folders of this machine."""

from __future__ import annotations

import click

from artificer.backends.workspace.folder import FolderCommit, check_out, commit_folder
from artificer.backends.workspace.service import VersionConflict
from artificer.backends.workspace.spec.version import MAX_MESSAGE
from artificer.cli.commands.workspace import CheckoutOptions, CommitOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit


async def checkout(settings: Settings, options: CheckoutOptions) -> Exit:
    """Write the files of a workspace to a folder."""
    async with opened_archive(settings) as archive:
        found = check_out(archive.workspaces, options.name, options.folder, options.version)
    note(f"version {found.version} of {options.name} is in {options.folder}")
    return Exit.OK


async def commit(settings: Settings, options: CommitOptions) -> Exit:
    """Commit the files of a folder; return 1 if the workspace has a newer version."""
    if len(options.message) > MAX_MESSAGE:
        raise click.UsageError(f"A message has at most {MAX_MESSAGE} characters.")
    async with opened_world(settings) as world:
        done = commit_folder(
            world.archive.workspaces,
            options.name,
            options.folder,
            expected=options.expected,
            message=options.message,
        )
    for path in done.skipped:
        note(f"skipped: {path} is not a regular file")
    if options.as_json:
        out_json(_as_json(options.name, done))
    elif done.version is not None:
        out(f"version {done.version.number} of {options.name}")
    elif done.conflict is None:
        note("Nothing has changed.")
    return Exit.OK if done.conflict is None else _conflict(options.name, done.conflict)


def _as_json(name: str, done: FolderCommit) -> dict[str, object]:
    version, conflict = done.version, done.conflict
    return {
        "workspace": name,
        "version": version and version.number,
        "root": version and version.root,
        "conflict": conflict and {"expected": conflict.expected, "actual": conflict.actual},
        "skipped": list(done.skipped),
    }


def _conflict(name: str, conflict: VersionConflict) -> Exit:
    note(
        f"Not committed: the newest version of {name} is {conflict.actual}, "
        f"and not {conflict.expected}.",
        "bad",
    )
    note("Check it out into another folder, and apply your changes there.", "hint")
    return Exit.WRONG

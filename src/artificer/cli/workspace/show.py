"""``artificer workspace list``, ``show``, ``log`` and ``diff``: read workspaces."""

from __future__ import annotations

import sys

from artificer.backends.workspace.service import Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.text import unified
from artificer.cli.commands.workspace import (
    DiffVersionsOptions,
    ListWorkspacesOptions,
    LogOptions,
    ShowFilesOptions,
)
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, one_line, out, out_bytes, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.table import print_table
from artificer.cli.terminal.words import count
from artificer.errors import NotFoundError
from artificer.system.utc import utc_text


async def list_workspaces(settings: Settings, options: ListWorkspacesOptions) -> Exit:
    """Print the newest version of each workspace."""
    async with opened_archive(settings) as archive:
        workspaces = archive.workspaces
        heads = [next(workspaces.log(name)) for name in workspaces.names()]
    if options.as_json:
        out_json([head.to_json() for head in heads])
    elif heads:
        rows = [
            (h.workspace, str(h.number), utc_text(h.at), h.run or "-", one_line(h.message, 60))
            for h in heads
        ]
        print_table([("NAME", "VERSION", "COMMITTED (UTC)", "RUN", "MESSAGE"), *rows])
    else:
        note("No workspaces yet.")
    return Exit.OK


async def show(settings: Settings, options: ShowFilesOptions) -> Exit:
    """Print the files of a workspace, or one file."""
    async with opened_archive(settings) as archive:
        return _show(archive.workspaces, options)


def _show(workspaces: Workspaces, options: ShowFilesOptions) -> Exit:
    fetch, name = workspaces.blobs.get, options.name
    found = workspaces.must_resolve(name, options.version)
    entry = tree.find(fetch, found.root, options.path)
    if entry is None:
        raise NotFoundError(
            f"Version {found.version} of {name!r} has no {options.path!r}.",
            hint=f"artificer workspace show {options.name}",
        )
    if isinstance(entry, tree.TreeFile) and not options.as_json:
        _print_file(fetch(entry.digest))
        return Exit.OK
    entries = list(tree.walk(fetch, found.root, options.path)) or [(options.path, entry)]
    if options.as_json:
        listed = [{"path": path, **each.to_json()} for path, each in entries]
        out_json(
            {"workspace": name, "version": found.version, "root": found.root, "entries": listed}
        )
        return Exit.OK
    for path, each in entries:
        if isinstance(each, tree.TreeFile):
            out(f"{each.mode}  {each.size:>9,}  {path}")
        else:
            out(f"{'dir':<4}  {'':>9}  {path}/")
    files = sum(isinstance(entry, tree.TreeFile) for _, entry in entries)
    note(f"version {found.version} of {name}: {count(files, 'file')}")
    return Exit.OK


def _print_file(data: bytes) -> None:
    """Write a file unchanged; at a terminal, escape its control characters."""
    if sys.stdout.isatty():
        out(data.decode("utf-8", "replace").removesuffix("\n"))
    else:
        out_bytes(data)


async def log(settings: Settings, options: LogOptions) -> Exit:
    """Print the newest versions of a workspace."""
    async with opened_archive(settings) as archive:
        newest = zip(archive.workspaces.log(options.name), range(options.limit), strict=False)
        versions = [version for version, _ in newest]
    if options.as_json:
        out_json([version.to_json() for version in versions])
        return Exit.OK
    rows = [
        (str(v.number), utc_text(v.at), v.run or "-", one_line(v.message, 60)) for v in versions
    ]
    print_table([("VERSION", "COMMITTED (UTC)", "RUN", "MESSAGE"), *rows])
    return Exit.OK


async def diff(settings: Settings, options: DiffVersionsOptions) -> Exit:
    """Print the differences between two versions."""
    async with opened_archive(settings) as archive:
        return _diff(archive.workspaces, options)


def _diff(workspaces: Workspaces, options: DiffVersionsOptions) -> Exit:
    new = workspaces.must_resolve(options.name, options.after)
    before = max(0, new.version - 1) if options.before is None else options.before
    old = workspaces.must_resolve(options.name, before)
    changes = list(tree.diff(workspaces.blobs.get, old.root, new.root))
    if options.as_json:
        out_json(
            [
                {
                    "path": change.path,
                    "change": change.word,
                    "before": change.before and change.before.to_json(),
                    "after": change.after and change.after.to_json(),
                }
                for change in changes
            ]
        )
        return Exit.OK
    for change in changes:
        out(f"{change.word} {change.path}", "strong")
        for line in unified(workspaces.blobs.get, change):
            out(line, {"+": "good", "-": "bad"}.get(line[:1]))
    return Exit.OK

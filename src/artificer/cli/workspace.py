"""``artificer workspace``: the workspaces of this project, looked at and worked on in folders."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from artificer.archive import Archive
from artificer.backends.workspace.folder import check_out, commit_folder
from artificer.backends.workspace.service import Conflict, Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.text import unified
from artificer.backends.workspace.spec.version import MAX_MESSAGE
from artificer.cli.common.drive import in_archive, in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.inspect.runs import print_table
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count, moment
from artificer.errors import NotFoundError
from artificer.world import World

_FOLDER = click.Path(file_okay=False, path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_VERSION = click.option("--version", type=click.IntRange(0), metavar="N", help="Default: the head.")


@click.group(name="workspace")
def command() -> None:
    """Workspaces: named trees of files that runs change, kept version by version.

    \b
    Example:
      artificer workspace commit notes ./notes --message "As they are today"
      artificer run "Put the notes in order" --workspace notes --kind chat
      artificer workspace diff notes
    """


def _look(settings: Settings, work: Callable[[Workspaces], Exit]) -> Exit:
    async def go(archive: Archive) -> Exit:
        return work(archive.workspaces)

    return in_archive(settings, go)


@command.command(name="list")
@_JSON
@pass_settings
def list_workspaces(settings: Settings, as_json: bool) -> int:
    """List the workspaces: name, head, when and by whom it was committed, and why.

    \b
    Example:
      artificer workspace list
    """

    def work(workspaces: Workspaces) -> Exit:
        heads = [next(workspaces.log(name)) for name in workspaces.names()]
        if as_json:
            out_json([head.model_dump(mode="json") for head in heads])
        elif heads:
            rows = [
                (h.workspace, str(h.number), moment(h.at), h.run or "-", one_line(h.message, 60))
                for h in heads
            ]
            print_table([("NAME", "VERSION", "COMMITTED (UTC)", "RUN", "MESSAGE"), *rows])
        else:
            note("No workspaces yet.")
        return Exit.OK

    return _look(settings, work)


@command.command(name="show")
@click.argument("name")
@click.argument("path", default="")
@_VERSION
@_JSON
@pass_settings
def show(settings: Settings, name: str, path: str, version: int | None, as_json: bool) -> int:
    """List the files of workspace NAME, or below PATH; print the file if PATH is one.

    \b
    Example:
      artificer workspace show notes
      artificer workspace show notes docs/plan.md --version 2
    """

    def work(workspaces: Workspaces) -> Exit:
        fetch = workspaces.blobs.get
        found = workspaces.must_resolve(name, version)
        entry = tree.find(fetch, found.root, path)
        if entry is None:
            raise NotFoundError(f"There is no {path!r} in version {found.version} of {name!r}.")
        if isinstance(entry, tree.File) and not as_json:
            _print_file(fetch(entry.digest))
            return Exit.OK
        entries = list(tree.walk(fetch, found.root, path)) or [(path, entry)]
        if as_json:
            listed = [{"path": where, **each.model_dump(mode="json")} for where, each in entries]
            out_json(
                {"workspace": name, "version": found.version, "root": found.root, "entries": listed}
            )
            return Exit.OK
        for where, each in entries:
            if isinstance(each, tree.File):
                out(f"{each.mode}  {each.size:>9,}  {where}")
            else:
                out(f"{'dir':<4}  {'':>9}  {where}/")
        files = sum(isinstance(entry, tree.File) for _, entry in entries)
        note(f"version {found.version} of {name}: {count(files, 'file')}")
        return Exit.OK

    return _look(settings, work)


def _print_file(data: bytes) -> None:
    """Write a file as it is; at a terminal, so that it can do no harm there."""
    if sys.stdout.isatty():
        out(data.decode("utf-8", "replace").removesuffix("\n"))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


@command.command(name="checkout")
@click.argument("name")
@click.argument("folder", type=_FOLDER)
@_VERSION
@pass_settings
def checkout(settings: Settings, name: str, folder: Path, version: int | None) -> int:
    """Write the files of workspace NAME into FOLDER, which must be empty or new.

    \b
    Example:
      artificer workspace checkout notes ./notes
    """

    def work(workspaces: Workspaces) -> Exit:
        found = check_out(workspaces, name, folder, version)
        note(f"version {found.version} of {name} is in {folder}")
        return Exit.OK

    return _look(settings, work)


@command.command(name="commit")
@click.argument("name")
@click.argument("folder", type=_FOLDER)
@click.option("--message", default="", metavar="TEXT", help="What was changed, and why.")
@click.option(
    "--expected",
    type=click.IntRange(0),
    metavar="N",
    help="The head that the folder is based on. Default: what was checked out into it.",
)
@_JSON
@pass_settings
def commit(
    settings: Settings, name: str, folder: Path, message: str, expected: int | None, as_json: bool
) -> int:
    """Make the files in FOLDER the next version of workspace NAME; a new one begins at 1.

    Nothing is committed when somebody else has committed since the folder was checked out. Symbolic
    links are not followed: they are passed over, and named.

    \b
    Example:
      artificer workspace commit notes ./notes --message "Typos"
    """
    if len(message) > MAX_MESSAGE:
        raise click.UsageError(f"A message has at most {MAX_MESSAGE} characters.")

    def work(workspaces: Workspaces) -> Exit:
        done = commit_folder(workspaces, name, folder, expected=expected, message=message)
        for path in done.skipped:
            note(f"passed over: {path} is no regular file")
        if as_json:
            version, conflict = done.version, done.conflict
            out_json(
                {
                    "workspace": name,
                    "version": version and version.number,
                    "root": version and version.root,
                    "conflict": conflict
                    and {"expected": conflict.expected, "actual": conflict.actual},
                    "skipped": list(done.skipped),
                }
            )
        elif done.version is not None:
            out(f"version {done.version.number} of {name}")
        elif done.conflict is None:
            note("Nothing has changed.")
        return _conflicts(name, done.conflict)

    async def go(world: World) -> Exit:
        return work(world.workspaces)

    return in_world(settings, go)


def _conflicts(name: str, conflict: Conflict | None) -> Exit:
    if conflict is None:
        return Exit.OK
    note(
        f"Not committed: the head of {name} is version {conflict.actual}, "
        f"and not {conflict.expected}.",
        "bad",
    )
    note("Check it out into another folder, and put your changes there.", "hint")
    return Exit.WRONG


@command.command(name="log")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N")
@_JSON
@pass_settings
def log(settings: Settings, name: str, limit: int, as_json: bool) -> int:
    """List the newest versions of workspace NAME, the newest first.

    \b
    Example:
      artificer workspace log notes
    """

    def work(workspaces: Workspaces) -> Exit:
        versions = [v for v, _ in zip(workspaces.log(name), range(limit), strict=False)]
        if as_json:
            out_json([version.model_dump(mode="json") for version in versions])
            return Exit.OK
        rows = [
            (str(v.number), moment(v.at), v.run or "-", one_line(v.message, 60)) for v in versions
        ]
        print_table([("VERSION", "COMMITTED (UTC)", "RUN", "MESSAGE"), *rows])
        return Exit.OK

    return _look(settings, work)


@command.command(name="diff")
@click.argument("name")
@click.argument("before", type=click.IntRange(0), required=False)
@click.argument("after", type=click.IntRange(0), required=False)
@_JSON
@pass_settings
def diff(
    settings: Settings, name: str, before: int | None, after: int | None, as_json: bool
) -> int:
    """Show what differs between versions BEFORE and AFTER of workspace NAME.

    Without AFTER it is the head, without BEFORE the version before that. 0 is the empty tree.

    \b
    Example:
      artificer workspace diff notes
      artificer workspace diff notes 0 1
    """

    def work(workspaces: Workspaces) -> Exit:
        new = workspaces.must_resolve(name, after)
        old = workspaces.must_resolve(name, max(0, new.version - 1) if before is None else before)
        changes = list(tree.diff(workspaces.blobs.get, old.root, new.root))
        if as_json:
            out_json(
                [
                    {
                        "path": change.path,
                        "change": change.word,
                        "before": change.before and change.before.model_dump(mode="json"),
                        "after": change.after and change.after.model_dump(mode="json"),
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

    return _look(settings, work)

"""The commands about workspaces."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path

import click

from artificer.cli.commands.numbers import WholeOption
from artificer.cli.commands.shared import FOLDER, POSITIVE, json_flag
from artificer.cli.declare import Command, argument, option, options

VERSION = WholeOption(0)


@options
class AsJson:
    """The form of the output."""

    as_json: bool = json_flag("Print JSON.")


@options
class WorkspaceName:
    """The workspace that a command is about."""

    name: str = argument()


@options
class VersionOption:
    """The version of a workspace."""

    version: int | None = option(type=VERSION, metavar="N", help="Default: the newest version.")


@options
class ListWorkspacesOptions(AsJson):
    """List the workspaces: name, newest version, when and by which run it was committed, message.

    \b
    Example:
      artificer workspace list
    """


@options
class ShowFilesOptions(VersionOption, AsJson, WorkspaceName):
    """List the files of workspace NAME, or those below PATH; print the file if PATH is one.

    \b
    Example:
      artificer workspace show notes
      artificer workspace show notes docs/plan.md --version 2
    """

    path: str = argument(default="")


@options
class CheckoutOptions(VersionOption, WorkspaceName):
    """Write the files of workspace NAME to FOLDER, which must be empty or new.

    \b
    Example:
      artificer workspace checkout notes ./notes
    """

    folder: Path = argument(type=FOLDER)


@options
class CommitOptions(AsJson, WorkspaceName):
    """Commit the files in FOLDER as the next version of workspace NAME; the first one is 1.

    Nothing is committed if another version was committed since the folder was checked out. Symbolic
    links are not followed: they are skipped and listed.

    \b
    Example:
      artificer workspace commit notes ./notes --message "Typos"
    """

    folder: Path = argument(type=FOLDER)
    message: str = option(default="", metavar="TEXT", help="The changes and their reason.")
    expected: int | None = option(
        type=VERSION,
        metavar="N",
        help="The version that the folder is based on. Default: the one that was checked out.",
    )


@options
class LogOptions(AsJson, WorkspaceName):
    """List the newest versions of workspace NAME, newest first.

    \b
    Example:
      artificer workspace log notes
    """

    limit: int = option(type=POSITIVE, default=20, show_default=True, metavar="N")


@options
class DiffVersionsOptions(AsJson, WorkspaceName):
    """Show the differences between versions BEFORE and AFTER of workspace NAME.

    AFTER is the newest version by default, BEFORE the one before AFTER. 0 is the empty tree.

    \b
    Example:
      artificer workspace diff notes
      artificer workspace diff notes 0 1
    """

    before: int | None = argument(type=VERSION, required=False)
    after: int | None = argument(type=VERSION, required=False)


workspace = click.Group(
    "workspace",
    help=cleandoc(
        """Show and change workspaces: named trees of files that runs change, version by version.

        \b
        Example:
          artificer workspace commit notes ./notes --message "First version"
          artificer run "Put the notes in order" --workspace notes --kind chat
          artificer workspace diff notes
        """
    ),
    commands=[
        Command("list", ListWorkspacesOptions, "workspace.show:list_workspaces"),
        Command("show", ShowFilesOptions, "workspace.show:show"),
        Command("checkout", CheckoutOptions, "workspace.folder:checkout"),
        Command("commit", CommitOptions, "workspace.folder:commit"),
        Command("log", LogOptions, "workspace.show:log"),
        Command("diff", DiffVersionsOptions, "workspace.show:diff"),
    ],
)

"""The commands about folders of manifests."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path

import click

from artificer.cli.commands.candidates import tool_argument
from artificer.cli.commands.numbers import RealOption
from artificer.cli.commands.shared import EXISTING_FOLDER, json_flag
from artificer.cli.declare import Command, argument, option, options

PROVIDERS = ("anthropic", "openai")


@options
class FolderOption:
    """The folder of manifests that a command is about."""

    folder: Path = argument(type=EXISTING_FOLDER)


@options
class CheckToolsOptions:
    """Read FOLDERS as a run would, and report every fault with its file, line and key.

    \b
    Example:
      artificer tools check tools
      artificer tools check their-tools --compat
    """

    folders: tuple[Path, ...] = argument(nargs=-1, required=True, type=EXISTING_FOLDER)
    compat: bool = option(
        is_flag=True, help="Be as lenient as the format's reference, and warn about each leniency."
    )


@options
class ListToolsOptions(FolderOption):
    """List the tools of FOLDER: name, risk, effect and purpose.

    \b
    Example:
      artificer tools list examples/tools
    """

    as_json: bool = json_flag("Print a JSON array of tool definitions.")


@options
class ShowToolOptions(FolderOption):
    """Show one TOOL: its contract, its arguments, and its file.

    \b
    Example:
      artificer tools show examples/tools git_log
    """

    tool: str = tool_argument()


@options
class SchemaOptions(FolderOption):
    """Print the JSON Schema of TOOL's arguments.

    With --strict, print an object with the name and the schema that a request contains, or an array
    of them without TOOL. "strict": false means that this schema, or the toolset, exceeds the
    provider's strict mode; the gate validates every call in any case.

    \b
    Example:
      artificer tools schema examples/tools git_log
      artificer tools schema examples/tools git_log --strict openai
      artificer tools schema examples/tools --strict anthropic
    """

    tool: str | None = tool_argument(required=False)
    mcp: bool = option(is_flag=True, help="The form in which an MCP server offers it.")
    strict: str | None = option(
        type=click.Choice(PROVIDERS),
        help="The form of this provider's strict mode: one TOOL, or all of FOLDER.",
    )


@options
class RunToolOptions(FolderOption):
    """Call TOOL of FOLDER by hand, and print the evidence that a run would record.

    The call passes the same gate as a model's call: schema, types, scope and policy.

    \b
    Example:
      artificer tools run examples/tools git_log --args '{"count": 3}'
      artificer tools run examples/tools git_log --args '{"count": 3}' --dry-run
    """

    tool: str = tool_argument()
    arguments: str = option("--args", metavar="JSON", default="{}", help="The arguments.")
    dry_run: bool = option(is_flag=True, help="Print the exact command and run nothing.")
    yes: bool = option(is_flag=True, help="Approve the call if the policy requires approval.")
    content: bool = option(is_flag=True, help="Print the text that a model would read instead.")
    compat: bool = option(
        is_flag=True, help="Read manifests as leniently as the format's reference."
    )


@options
class TestToolsOptions(FolderOption):
    """Run the [[examples]] in the manifests of FOLDER as tests.

    For an example with 'argv', only the command line is built; others are executed here, with their
    effects.

    \b
    Example:
      artificer tools test examples/tools
    """


@options
class NewToolOptions:
    """Write a draft of a manifest for PROGRAM, or for one of its SUBCOMMANDS, to stdout.

    The draft is made from the program's --help. Read it, delete the arguments that a model does not
    need, and improve the descriptions.

    \b
    Example:
      artificer tools new git log > tools/git_log.clad.toml
      artificer tools check tools
    """

    program: str = argument()
    subcommands: tuple[str, ...] = argument(nargs=-1)


@options
class PruneToolsOptions:
    """Remove the files that tools wrote in runs older than N days.

    Records and blobs are kept: only the folders into which programs wrote files are removed.

    \b
    Example:
      artificer tools prune --days 7
    """

    days: float = option(type=RealOption(min=0), default=30, show_default=True, metavar="N")


tools = click.Group(
    "tools",
    help=cleandoc(
        """Check, show, try and write folders of manifests.

        \b
        Example:
          artificer tools check examples/tools
          artificer tools run examples/tools git_log --args '{"count": 3}' --dry-run
        """
    ),
    commands=[
        Command("check", CheckToolsOptions, "tools.check:check"),
        Command("list", ListToolsOptions, "tools.show:list_tools"),
        Command("show", ShowToolOptions, "tools.show:show"),
        Command("schema", SchemaOptions, "tools.schema:schema"),
        Command("run", RunToolOptions, "tools.run:run"),
        Command("test", TestToolsOptions, "tools.examples:test"),
        Command("new", NewToolOptions, "tools.new:new"),
        Command("prune", PruneToolsOptions, "tools.prune:prune"),
    ],
)

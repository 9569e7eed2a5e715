"""``artificer``: the group of all commands, and the one place where errors become exit codes.

A command's module is imported when the command is used, so that ``artificer --help`` imports
nothing but click.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from artificer.cli.common.settings import Settings
from artificer.cli.terminal import console
from artificer.cli.terminal.exits import Exit, Interrupted, ReaderGone, epilog, exit_of
from artificer.errors import ArtificerError
from artificer.values.release import RELEASE

COMMANDS = {
    "run": ("run.run", "Run a prompt to its end."),
    "build": ("build.command", "Make software: plan, specs, phases, code."),
    "resume": ("run.resume", "Go on with an interrupted, stalled, paused or waiting run."),
    "follow-up": ("run.follow_up", "Ask more in the conversation of a run."),
    "approve": ("signals.approve", "Allow or deny what a run asks about."),
    "resolve": ("signals.resolve", "Say whether an ambiguous call had happened."),
    "steer": ("signals.steer", "Say something to the model of a run under way."),
    "pause": ("signals.pause", "Let nothing new begin in a run until it is resumed."),
    "interrupt": ("signals.interrupt", "End a run when what is under way has ended."),
    "fork": ("run.fork", "Begin a run with the facts of another one."),
    "cancel": ("signals.cancel", "End a run now."),
    "runs": ("inspect.runs", "List the runs of this project."),
    "show": ("inspect.show", "Show how a run went, record by record."),
    "explain": ("inspect.explain", "Say where a run stands, why, and what to do next."),
    "diff": ("inspect.diff", "Compare two runs, turn by turn."),
    "open": ("inspect.open", "Open a run's report."),
    "export": ("recordings.export", "Write a run into one file."),
    "import": ("recordings.import_", "Add a run from a file."),
    "test": ("recordings.rerun", "Test exported runs: replay them, and run them again."),
    "replay": ("journal.replay", "Prove that a run's journal reproduces itself."),
    "verify": ("journal.verify", "Check every record and blob of this project."),
    "fsck": ("journal.fsck", "Verify, and find orphans, leftovers and what was never finished."),
    "budget": ("journal.budget", "Say what is spent today, and what is left."),
    "gc": ("journal.gc", "Remove blobs that nothing refers to."),
    "prune": ("journal.prune", "Remove finished runs for good."),
    "tools": ("tools.command", "Check, show, try and write manifests of tools."),
    "policy": ("tools.policy", "Check the rules for calls, and explain what they say of one."),
    "workspace": ("workspace", "Trees of files that runs change, version by version."),
    "doctor": ("setup.doctor", "Say what is installed and which models answer."),
    "mcp": ("mcp.command", "Serve tools to any MCP client."),
    "local": ("setup.local", "The embedded model."),
}
"""Each command: its module below ``artificer.cli``, and its help in one line."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module. Returns None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"artificer.cli.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is answered with the nearest known one."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table into the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog as it stands, without wrapping it."""
        formatter.write(f"\n{self.epilog}\n")


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=epilog(),
)
@click.option("--home", metavar="DIR", help="Where worlds live. Default: ~/.artificer.")
@click.option("--project", metavar="NAME", help="Which world. Default: one for each folder.")
@click.option("-v", "--verbose", is_flag=True, help="Structured logs on stderr.")
@click.version_option(RELEASE, "-V", "--version", prog_name="artificer")
@click.pass_context
def cli(ctx: click.Context, home: str | None, project: str | None, verbose: bool) -> None:
    """A language model acts and delivers only through typed tool calls: checked before they run,
    recorded before they act, and replayable after.

    \b
    Example:
      artificer local fetch
      artificer run "A short report on tea" --model local/smollm2 \\
          --choice create_checklist --choice none
      artificer open last
      artificer replay last

    Settings are read from ./artificer.toml. ARTIFICER_HOME, ARTIFICER_PROJECT and ARTIFICER_MODEL
    override it, and options override both. A RUN is an id, the unique beginning of one, or `last`.
    """
    ctx.obj = Settings(home, project, verbose)


def main() -> NoReturn:
    """Run the command line and exit."""
    console.prepare()
    code = perform(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = Exit.PIPE
    if code == Exit.PIPE:
        # Python flushes stdout once more at its end: give it something to flush into.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def perform(arguments: list[str]) -> int:
    """Perform a command line and return its exit code. Raises nothing."""
    try:
        return int(cli.main(arguments, prog_name="artificer", standalone_mode=False) or Exit.OK)
    except click.ClickException as error:
        return _correct(error)
    except Interrupted as error:
        return error.exit
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except ReaderGone:
        return Exit.PIPE
    except Exception as error:  # noqa: BLE001  # boundary: no error ends in a traceback
        return _explain(error)


def _correct(error: click.ClickException) -> int:
    """Tell what is wrong with the command line."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return Exit.USAGE
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = context.command_path if context else "artificer"
    console.complain(error.format_message(), f"`{where} --help` shows how it is used.")
    return Exit.USAGE


def _explain(error: Exception) -> int:
    """Tell what went wrong and whose turn it is; the traceback only where it is asked for."""
    if os.environ.get("ARTIFICER_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, ArtificerError):
        console.complain(error.message, error.hint)
        return exit_of(error)
    if isinstance(error, OSError):
        console.complain(f"{error.strerror or error}: {error.filename or 'a file or connection'}")
        return Exit.OPERATOR
    console.complain(
        f"{type(error).__name__}: {error}. This is a bug in Artificer.",
        "Please report it with what ARTIFICER_DEBUG=1 shows.",
    )
    return Exit.BUG

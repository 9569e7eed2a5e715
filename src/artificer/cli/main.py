"""``artificer``: the group of all commands, and the one place where errors become exit codes.

The declaration of a command is imported when the command is named, and the work when it runs, so
``artificer --help`` imports click and little else.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, NoReturn

import click

from artificer.cli.settings import Settings
from artificer.cli.terminal import console
from artificer.cli.terminal.exits import Exit, Interrupted, ReaderGone, epilog, exit_of
from artificer.errors import ArtificerError, ConfigError
from artificer.plugins import Registry, described, package_behind
from artificer.values.release import RELEASE

SECTIONS = {
    "Start": {
        "run": ("run.run", "Run a prompt until it is finished."),
        "chat": ("run.chat", "Talk to a model in the terminal."),
        "build": ("build.build", "Build software: plan, specs, phases, code."),
        "studio": ("studio.studio", "Watch runs, decide and look back in the browser."),
        "worker": ("worker.worker", "Execute submitted runs, on any machine."),
    },
    "Continue": {
        "resume": ("run.resume", "Continue an interrupted, stalled, paused or waiting run."),
        "follow-up": ("run.follow_up", "Send another prompt to the conversation of a run."),
        "fork": ("run.fork", "Start a run from a copy of another run's records."),
    },
    "Decide and steer": {
        "approve": ("signals.approve", "Approve or deny a tool call that a run waits for."),
        "resolve": ("signals.resolve", "Record whether an uncertain call was executed."),
        "tick": ("signals.tick", "Tick off an item of a checklist."),
        "steer": ("signals.steer", "Send a message to the model of a run in progress."),
        "pause": ("signals.pause", "Pause a run; resume continues it."),
        "interrupt": ("signals.interrupt", "End a run gracefully."),
        "cancel": ("signals.cancel", "End a run at once."),
    },
    "Inspect": {
        "runs": ("inspect.runs", "List the runs of this project."),
        "search": ("inspect.search", "Search the texts of runs: prompts, replies, calls, results."),
        "show": ("inspect.show", "Show a run record by record."),
        "explain": ("inspect.explain", "Explain a run's status and the next steps."),
        "diff": ("inspect.diff", "Compare two runs turn by turn."),
        "open": ("inspect.open_", "Open a run's report."),
        "budget": ("journal.budget", "Show today's spending, and what is left."),
    },
    "Tools and rules": {
        "tools": ("tools.tools", "Check, show, try and write tool manifests."),
        "policy": ("policy.policy", "Check the rules for calls, and explain a decision."),
        "workspace": ("workspace.workspace", "Show and change versioned trees of files."),
        "mcp": ("mcp.mcp", "Serve tools to any MCP client."),
    },
    "Share and test runs": {
        "export": ("recordings.export", "Write a run, its report or an artifact to a file."),
        "import": ("recordings.import_", "Add a run from a file."),
        "test": ("recordings.test", "Run exported runs as tests."),
    },
    "Check and clean up": {
        "replay": ("journal.replay", "Prove that a run's journal reproduces itself."),
        "verify": ("journal.verify", "Check every record and blob of this project."),
        "audit": ("journal.audit", "Print who decided what, and which effects happened."),
        "fsck": ("journal.fsck", "Verify, and find unreferenced and unfinished files."),
        "gc": ("journal.gc", "Remove unreferenced blobs."),
        "prune": ("journal.prune", "Delete the contents of finished runs."),
    },
    "Set up": {
        "init": ("setup.init", "Write a commented artificer.toml, or create a world."),
        "models": ("setup.models", "List providers, their keys and their models."),
        "local": ("setup.local", "Download the embedded model."),
        "doctor": ("setup.doctor", "Check what is installed and which models answer."),
        "completion": ("setup.completion", "Print the completion script of a shell."),
    },
}
"""The commands by task; each has its declaration below ``cli.commands``, and its help in a line."""

COMMANDS = {name: entry for commands in SECTIONS.values() for name, entry in commands.items()}
"""All commands that are built in, by name."""

REGISTRY: Registry[click.Command] = Registry(
    "artificer.commands",
    click.Command,
    {
        name: f"artificer.cli.commands.{place.replace('.', ':')}"
        for name, (place, _) in COMMANDS.items()
    },
    "command of click",
)
"""All commands. Those of installed packages are looked for when a name is not built in."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's declaration. Returns None for an unknown name.

        Raises ConfigError for one of an installed package that cannot be used.
        """
        return REGISTRY.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one, suggest the nearest known one."""
        if not args[0].startswith("-") and args[0] not in REGISTRY:
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Perform the command. Only a package's own commands may end the program.

        Raises ConfigError if other code of a package raises what is not an Exception.
        """
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            package = package_behind(error)
            if package is None or REGISTRY.is_plug_in(ctx.invoked_subcommand or ""):
                raise
            raise ConfigError(
                f"The package {package} raised {described(error)}",
                hint="This is a bug in the package: report it to its authors; update or uninstall "
                "it.",
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands into the help, by task."""
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), text) for name, (_, text) in commands.items()]
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog without wrapping it."""
        formatter.write(f"\n{self.epilog}\n")


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=epilog(),
)
@click.option("--home", metavar="DIR", help="Data directory. Default: ~/.artificer.")
@click.option("--project", metavar="NAME", help="Project name. Default: one per folder.")
@click.option("-v", "--verbose", is_flag=True, help="Write structured logs to stderr.")
@click.version_option(RELEASE, "-V", "--version", prog_name="artificer")
@click.pass_context
def cli(ctx: click.Context, home: str | None, project: str | None, verbose: bool) -> None:
    """A language model acts and delivers only through typed tool calls: checked before they run,
    recorded before they act, replayable afterwards.

    \b
    Example:
      artificer local fetch
      artificer run "A short report on tea" --model local/smollm2 \\
          --choice create_checklist --choice none
      artificer open last
      artificer replay last

    Settings are read from ./artificer.toml. ARTIFICER_HOME, ARTIFICER_PROJECT, ARTIFICER_MODEL and
    ARTIFICER_STORAGE override it, and options override both. RUN is an id, a unique prefix of one,
    or `last`.
    """
    ctx.obj = Settings(home, project, verbose)


def main() -> NoReturn:
    """Run the command line and exit.

    The garbage collector is off until a command has been imported, and at the end: what is imported
    lives as long as the process, and to look at all of it again takes as long as some commands.
    """
    gc.disable()
    console.prepare()
    code = _flushed(perform(sys.argv[1:]))
    gc.freeze()
    if "temporalio" in sys.modules:  # its threads may abort an interpreter that ends
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _flushed(code: int) -> int:
    """Write what stdout holds back, and return the exit code: that of a command which could not."""
    try:
        sys.stdout.flush()
    except (ReaderGone, OSError) as error:
        # Python flushes stdout once more when it exits: that must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, ReaderGone):
            return Exit.PIPE
        return code or _explain(error)
    return code


def perform(arguments: list[str]) -> int:
    """Perform a command line and return its exit code. Raises nothing."""
    try:
        code = cli.main(arguments, prog_name="artificer", standalone_mode=False)
        return int(code) if isinstance(code, int) else Exit.OK
    except click.ClickException as error:
        return _correct(error, arguments)
    except Interrupted as error:
        return error.exit
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except ReaderGone:
        return Exit.PIPE
    except Exception as error:  # noqa: BLE001  # boundary: no error ends in a traceback
        return _explain(error)


def _correct(error: click.ClickException, arguments: list[str]) -> int:
    """Report what is wrong with the command line."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return Exit.USAGE
    from artificer.cli.terminal.usage import correction

    console.complain(*correction(error, arguments))
    return Exit.USAGE


def _explain(error: Exception) -> int:
    """Report an error and the next step; with a traceback if ARTIFICER_DEBUG is set."""
    if os.environ.get("ARTIFICER_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, ArtificerError):
        console.complain(error.message, error.hint)
        return exit_of(error)
    if isinstance(error, OSError):
        what = f"{error.strerror}: {error.filename or 'a file or connection'}"
        console.complain(
            what if error.strerror else str(error),
            "Check the path, its permissions and the space on the disk.",
        )
        return Exit.OPERATOR
    if package := package_behind(error):
        console.complain(
            f"{described(error)}. This is a bug in the package {package}.",
            "Please report it there, with the traceback that ARTIFICER_DEBUG=1 prints.",
        )
        return Exit.BUG
    console.complain(
        f"{described(error)}. This is a bug in Artificer.",
        "Please report it with the traceback that ARTIFICER_DEBUG=1 prints.",
    )
    return Exit.BUG

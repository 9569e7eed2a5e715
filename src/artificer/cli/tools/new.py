"""``artificer tools new``: the first draft of a manifest, from what a program says of itself."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import click

from artificer.cli.common.drive import drive
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit

MAX_OPTIONS = 12
"""Options that a draft takes over: a tool with more is one that no model uses well."""

_OPTION = re.compile(
    r"^\s*(?:-\w,?\s+)?(--[a-z][a-z0-9-]*)(?:[= ]\[?<?([A-Za-z][\w-]*)>?\]?)?(?:\s{2,}(\S.*))?$"
)
_NOT_TAKEN = frozenset({"help", "version", "verbose", "quiet", "color", "config", "debug"})


@dataclass(frozen=True)
class Option:
    """A long option that a help text names; ``value`` is what it calls its value, or None."""

    flag: str
    value: str | None
    description: str

    @property
    def name(self) -> str:
        """The argument's name."""
        return self.flag.strip("-").replace("-", "_")


@click.command(name="new")
@click.argument("program")
@click.argument("subcommands", nargs=-1)
def new(program: str, subcommands: tuple[str, ...]) -> int:
    """Write the draft of a manifest for PROGRAM, or for one of its SUBCOMMANDS, to stdout.

    It is made of what the program prints for --help. Read it, delete what a model does not need,
    and say better what each argument is for.

    \b
    Example:
      artificer tools new git log > tools/git_log.clad.toml
      artificer tools check tools
    """
    options = read_help(_help_of(program, subcommands))
    out(draft(program, subcommands, options))
    note(f"{len(options)} options were understood; read the draft before you use it")
    return Exit.OK


def _help_of(program: str, subcommands: tuple[str, ...]) -> str:
    import os

    from artificer.backends.process.environment import child_environment
    from artificer.backends.process.run import Finished, run_process
    from artificer.errors import NotFoundError

    async def ask() -> Finished:
        return await run_process(
            [program, *subcommands, "--help"],
            env={**child_environment(os.environ), "MANPAGER": "cat", "PAGER": "cat"},
            cwd=Path.cwd(),
            seconds=20,
        )

    try:
        finished = drive(ask)
    except OSError as error:
        raise NotFoundError(f"{program} could not be started: {error.strerror}.") from error
    return f"{finished.stdout.text}\n{finished.stderr.text}"


def read_help(text: str) -> list[Option]:
    """The long options of a help text, in order, at most MAX_OPTIONS."""
    found: dict[str, Option] = {}
    for line in text.splitlines():
        match = _OPTION.match(line)
        if match and match[1].strip("-") not in _NOT_TAKEN:
            option = Option(match[1], match[2], " ".join((match[3] or "").split()))
            found.setdefault(option.flag, option)
    return list(found.values())[:MAX_OPTIONS]


def draft(program: str, subcommands: tuple[str, ...], options: list[Option]) -> str:
    """A manifest that loads: every option an argument, and the command of all of them."""
    base = Path(program).name
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", "_".join([base, *subcommands]))[:64]
    described = (
        f"Run {' '.join([base, *subcommands])}. Say here what it is for, and when to use it."
    )
    lines = [
        "[tool]",
        f"name = {json.dumps(name)}",
        'version = "0.1.0"',
        f"binary = {json.dumps(base)}",
        f"description = {json.dumps(described)}",
        'risk_tier = "medium"  # info, low, medium, high or critical',
        'effect = "once"       # pure, idempotent, keyed or once: what may be done after a crash',
        "",
    ]
    items = [program, *subcommands]
    parts = [json.dumps(item) for item in items]
    mappings: list[str] = []
    for option in options:
        kind = "string" if option.value else "boolean"
        lines += [
            f"[args.{option.name}]",
            f'type = "{kind}"',
            f"description = {json.dumps(option.description or option.flag)}",
            "",
        ]
        if option.value:
            parts.append(f'["{option.flag}={{{option.name}}}"]')
        else:
            parts.append(f'"{{_{option.name}_flags}}"')
            mappings += [f"[command.mappings.{option.name}]", f'"true" = "{option.flag}"', ""]
    command = ["[command]", "exec = [", *(f"  {part}," for part in parts), "]", ""]
    return "\n".join([*lines, *command, *mappings, "[output]", 'format = "text"'])

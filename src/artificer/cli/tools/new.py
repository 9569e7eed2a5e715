"""``artificer tools new``: a draft of a manifest, from a program's ``--help``."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from artificer.backends.process.environment import child_environment
from artificer.backends.process.run import run_process
from artificer.cli.commands.tools import NewToolOptions
from artificer.cli.interruptible import interruptible
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.errors import NotFoundError

MAX_OPTIONS = 12
"""Options that a draft contains: no model uses a tool with more of them well."""

_OPTION = re.compile(
    r"^\s*(?:-\w,?\s+)?(--[a-z][a-z0-9-]*)(?:[= ]\[?<?([A-Za-z][\w-]*)>?\]?)?(?:\s{2,}(\S.*))?$"
)
_NOT_TAKEN = frozenset({"help", "version", "verbose", "quiet", "color", "config", "debug"})


@dataclass(frozen=True)
class HelpOption:
    """A long option in a help text; ``value`` is the name of its value, or None."""

    flag: str
    value: str | None
    description: str

    @property
    def name(self) -> str:
        """The argument's name."""
        return self.flag.strip("-").replace("-", "_")


@interruptible
async def new(settings: Settings, options: NewToolOptions) -> Exit:
    """Read the program's help and print the draft."""
    found = read_help(await _help_of(options.program, options.subcommands))
    out(draft(options.program, options.subcommands, found))
    note(f"{len(found)} options were recognised; review the draft before you use it")
    return Exit.OK


async def _help_of(program: str, subcommands: tuple[str, ...]) -> str:
    try:
        finished = await run_process(
            [program, *subcommands, "--help"],
            env={**child_environment(os.environ), "MANPAGER": "cat", "PAGER": "cat"},
            cwd=Path.cwd(),
            seconds=20,
        )
    except OSError as error:
        raise NotFoundError(f"{program} could not be started: {error.strerror}.") from error
    return f"{finished.stdout.text}\n{finished.stderr.text}"


def read_help(text: str) -> list[HelpOption]:
    """Return the long options of a help text, in order, at most MAX_OPTIONS."""
    found: dict[str, HelpOption] = {}
    for line in text.splitlines():
        match = _OPTION.match(line)
        if match and match[1].strip("-") not in _NOT_TAKEN:
            option = HelpOption(match[1], match[2], " ".join((match[3] or "").split()))
            found.setdefault(option.flag, option)
    return list(found.values())[:MAX_OPTIONS]


def draft(program: str, subcommands: tuple[str, ...], options: list[HelpOption]) -> str:
    """Return a valid manifest: every option is an argument, and the command has them all."""
    base = Path(program).name
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", "_".join([base, *subcommands]))[:64]
    described = (
        f"Run {' '.join([base, *subcommands])}. Describe its purpose here, and when to use it."
    )
    lines = [
        "[tool]",
        f"name = {json.dumps(name)}",
        'version = "0.1.0"',
        f"binary = {json.dumps(base)}",
        f"description = {json.dumps(described)}",
        'risk_tier = "medium"  # info, low, medium, high or critical',
        'effect = "once"       # pure, idempotent, keyed or once: repeatable after a crash?',
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

"""``artificer tools new``: a draft of a manifest, from a program's ``--help``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from artificer.backends.process.environment import child_environment
from artificer.backends.process.run import run_process
from artificer.cli.commands.tools import NewToolOptions
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.errors import NotFoundError

MAX_OPTIONS = 12
"""Options that a draft contains: no model uses a tool with more of them well."""

LONGEST_DESCRIPTION = 300
"""Characters of a description that a draft takes from the help."""

_OPTION = re.compile(
    r"^\s*(?:-\w,?\s+)?(--[a-z][a-z0-9-]*)(?:[= ]\[?<?([A-Za-z][\w-]*)>?\]?)?(?:\s{2,}(\S.*))?$"
)
_PURPOSE = re.compile(r"[A-Z]\w* [^:]*[\w.)]$")
_ABOUT_HELP = re.compile(r"(?i)\b(options?|arguments?|usage|help|version)\b|^default")
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
        return _snake(self.flag)


@dataclass(frozen=True)
class HelpOperand:
    """An argument without a flag, from the first usage line of a help text."""

    word: str
    required: bool
    many: bool

    @property
    def name(self) -> str:
        """The argument's name."""
        return _snake(self.word)


def _snake(word: str) -> str:
    return re.sub(r"\W+", "_", word.lower()).strip("_")


async def new(settings: Settings, options: NewToolOptions) -> Exit:
    """Read the program's help and print the draft."""
    text = await _help_of(options.program, options.subcommands)
    found, operands = read_help(text), read_usage(text, (options.program, *options.subcommands))
    out(draft(options.program, options.subcommands, found, operands, read_purpose(text)))
    note(
        f"recognised: {_count(len(operands), 'argument')}, {_count(len(found), 'option')}; review"
        " the draft before you use it"
    )
    return Exit.OK


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


async def _help_of(program: str, subcommands: tuple[str, ...]) -> str:
    try:
        finished = await run_process(
            [program, *subcommands, "--help"],
            env={**child_environment(os.environ), "MANPAGER": "cat", "PAGER": "cat"},
            cwd=Path.cwd(),
            seconds=20,
        )
    except OSError as error:
        raise NotFoundError(
            f"{program} could not be started: {error.strerror}.",
            hint="Install it, or give its path.",
        ) from error
    return f"{finished.stdout.text}\n{finished.stderr.text}"


def read_help(text: str) -> list[HelpOption]:
    """Return the long options of a help text, in order, at most MAX_OPTIONS."""
    found: dict[str, HelpOption] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _OPTION.match(line)
        if match and match[1].strip("-") not in _NOT_TAKEN:
            column = match.start(3) if match[3] else len(line)
            words = " ".join([match[3] or "", *_continued(lines[number + 1 :], column)]).split()
            option = HelpOption(match[1], match[2], " ".join(words)[:LONGEST_DESCRIPTION])
            found.setdefault(option.flag, option)
    return list(found.values())[:MAX_OPTIONS]


def _continued(lines: list[str], column: int) -> Iterator[str]:
    """Yield the lines that continue with a description, which begins at this column."""
    for line in lines:
        indented = len(line) - len(line.lstrip())
        if not line.strip() or indented < min(column, 8) or line.lstrip().startswith("-"):
            return
        yield line.strip()


def _sentence_lines(line: str, lines: list[str]) -> Iterator[str]:
    """Yield the lines that continue with a sentence: neither indented nor empty."""
    for following in lines:
        if line.rstrip().endswith(".") or not following.strip() or following[0].isspace():
            return
        line = following
        yield line.strip()


def read_purpose(text: str) -> str:
    """Return the sentence of a help text that says what the program does, or nothing.

    In a manual page it stands under NAME: ``git-log - Show commit logs``.
    """
    if named := re.search(r"(?m)^NAME\n\s+\S+(?:, \S+)* [-–—] (.+)$", text):
        return named[1].strip()[:LONGEST_DESCRIPTION]
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.match(r"[A-Z]\w* ", line):
            sentence = " ".join([line, *_sentence_lines(line, lines[number + 1 :])])
            if _PURPOSE.match(sentence) and not _ABOUT_HELP.search(sentence):
                return sentence[:LONGEST_DESCRIPTION]
    return ""


_GROUP = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\S*|<[^>]+>\S*|\S+")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_NO_OPERAND = re.compile(r"(?i)^(flags|args|command|subcommand|or|usage)$|\boptions?$")
_SEVERAL = re.compile("DIRECTORIES|DIRS|FILES|FOLDERS|PATHS|URLS")


def read_usage(text: str, program: tuple[str, ...]) -> list[HelpOperand]:
    """Return the operands of the first usage line, in order: ``git log [<range>] [--] <path>...``.

    What holds a flag is an option, and is left to :func:`read_help`.
    """
    usage = re.search(r"(?im)^\s*(?:usage:|synopsis$)\s*(.*(?:\n[ \t]{6,}\S.*)*)", text)
    if usage is None:
        return []
    found: dict[str, HelpOperand] = {}
    skipped = {Path(word).name.lower() for word in program}
    tokens: list[str] = _GROUP.findall(usage[1])
    for before, token in pairwise(["", *tokens]):
        bare = token.replace("[--]", "").replace("...", "")
        words = [w for w in _WORD.findall(bare) if not _NO_OPERAND.search(w)]
        words = (
            words[1:] if token[0] == "<" and words[1:] and words[0].lower() in skipped else words
        )
        if "-" in re.sub(r"[\w>\]]-[\w<]", "", bare) or not words:
            continue
        if token[0] not in "<[" and words[0].lower() in skipped:
            continue
        many = "..." in token or _SEVERAL.fullmatch(words[0]) is not None
        operand = HelpOperand(words[0], not token.startswith("["), many)
        if before.startswith("--") and _snake(before) == operand.name:
            continue  # the value of an option that is required
        found.setdefault(operand.name, operand)
    return list(found.values())


_TYPES = (
    (
        "path",
        re.compile(
            r"(?i)file|path|dir|folder|archive|database|document|^(source|src|dest(ination)?)$"
        ),
    ),
    ("url", re.compile(r"(?i)^ur[il]$")),
    (
        "integer",
        re.compile(r"(?i)^(n|num|number|count|int|integer|lines|size|bytes|seconds|secs)$"),
    ),
)


def _type_of(value: str | None) -> str:
    """The type of an argument, from the name of its value."""
    if value is None:
        return "boolean"
    return next((kind for kind, names in _TYPES if names.search(value)), "string")


def draft(
    program: str,
    subcommands: tuple[str, ...],
    options: list[HelpOption],
    operands: list[HelpOperand] | None = None,
    purpose: str = "",
) -> str:
    """Return a valid manifest: options and operands are arguments, and the command has them all."""
    base = Path(program).name
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", "_".join([base, *subcommands]))[:64]
    described = purpose or (
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
    names = {option.name for option in options}
    wanted = [_apart(operand, names) for operand in operands or ()]
    for operand in wanted:
        lines += _operand_lines(operand)
    for option in options:
        lines += [
            f"[args.{option.name}]",
            f'type = "{_type_of(option.value)}"',
            f"description = {json.dumps(option.description or option.flag)}",
            "",
        ]
        if option.value:
            parts.append(f'["{option.flag}={{{option.name}}}"]')
        else:
            parts.append(f'"{{_{option.name}_flags}}"')
            mappings += [f"[command.mappings.{option.name}]", f'"true" = "{option.flag}"', ""]
    for operand in wanted:
        item = f'"{{{operand.name}}}"'
        parts.append(item if operand.required and not operand.many else f"[{item}]")
    command = ["[command]", "exec = [", *(f"  {part}," for part in parts), "]", ""]
    return "\n".join([*lines, *command, *mappings, "[output]", 'format = "text"'])


def _apart(operand: HelpOperand, options: set[str]) -> HelpOperand:
    """Return an operand under a name that no option has: ``grep -f FILE`` reads ``FILE...`` too."""
    taken = operand.name in options
    ending = "s" if operand.many and f"{operand.name}s" not in options else "_operand"
    return replace(operand, word=operand.word + ending) if taken else operand


def _operand_lines(operand: HelpOperand) -> list[str]:
    lines = [f"[args.{operand.name}]", f'type = "{_type_of(operand.word)}"']
    lines += ["required = true"] if operand.required else []
    lines += ["list = true"] if operand.many else []
    return [*lines, f"description = {json.dumps(operand.word)}", ""]

"""``artificer diff``: compare two runs turn by turn."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Any

from msgspec import to_builtins

from artificer.cli.commands.inspect import DiffOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.runtime.proving.compare import Comparison, Difference
from artificer.values.text import split_lines

WIDTH = 140
"""Characters of a line that is shown."""

LINES = 40
"""Lines of one difference that are shown."""


async def diff(settings: Settings, options: DiffOptions) -> Exit:
    """Print the differences; return 1 if there are any."""
    async with opened_archive(settings) as archive:
        one, other = await archive.find(options.run), await archive.find(options.other)
        found = await archive.diff(one, other)
    if options.as_json:
        out_json({"same": found.same, **to_builtins(found)})
    else:
        _print(found)
    return Exit.OK if found.same else Exit.WRONG


def _print(found: Comparison) -> None:
    out(f"--- {found.runs[0]}", "bad")
    out(f"+++ {found.runs[1]}", "good")
    for difference in found.settings:
        out(f"{difference.what}: {_value(difference.a)} → {_value(difference.b)}")
    if found.first:
        places = f"record {found.first.a or 'none'} and record {found.first.b or 'none'}"
        out(f"first difference: {places}: {found.first.what}")
    elif found.same:
        out("the same prompt, replies, calls, results and deliverable")
    _part("prompt", found.prompt)
    for turn in found.turns:
        _part(f"turn {turn.turn}", turn.differences)
    _part("deliverable", found.deliverable)
    totals = (f"{t.what} {_value(t.a)} → {_value(t.b)}" for t in found.totals if t.a != t.b)
    line = ", ".join(totals)
    if line:
        out(f"\ntotals: {line}")


def _part(name: str, differences: Iterable[Difference]) -> None:
    for number, difference in enumerate(differences):
        if number == 0:
            out(f"\n{name}", "strong")
        out(f"  {difference.what}")
        lines = list(shown_lines(difference))
        for line in lines[:LINES]:
            style = {"-": "bad", "+": "good"}.get(line[:1])
            out(f"    {one_line(line, WIDTH)}", style)
        if len(lines) > LINES:
            out(f"    … {count(len(lines) - LINES, 'more line')}: --json shows all", "dim")


def shown_lines(difference: Difference) -> Iterable[str]:
    """A unified diff without its headings; values of one line stand as they are."""
    a, b = split_lines(_text(difference.a)), split_lines(_text(difference.b))
    for line in islice(difflib.unified_diff(a, b, lineterm="", n=1), 2, None):
        if not line.startswith("@@"):
            yield line


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _value(value: Any) -> str:
    return "none" if value is None else one_line(str(value), WIDTH // 2)

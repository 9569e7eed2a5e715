"""``artificer show``: show a run record by record."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.archive import is_queued
from artificer.cli.commands.inspect import ShowOptions
from artificer.cli.inspect.show_tree import tree_of
from artificer.cli.inspect.timeline import DETAIL, Entry, entries
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import one_line, out, out_json, out_json_text
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import cost, count, duration, joined, tokens
from artificer.core.events import PromptReceived
from artificer.core.fallback import models_in_words
from artificer.core.record import EventLine, IntentLine
from artificer.runs import History, Run
from artificer.system.utc import utc_text

NAME_WIDTH = 18
"""As wide as the longest name of an event or intent, ``ApprovalAnswered``, and an arrow."""


async def show(settings: Settings, options: ShowOptions) -> Exit:
    """Print a run record by record."""
    forms = (options.raw, options.as_json or options.as_tree, options.html is not None)
    if sum(forms) > 1:
        raise click.UsageError("--raw, --html and the other forms exclude each other.")
    async with opened_archive(settings) as archive:
        run_id = await archive.find(options.run)
        history = await archive.history(run_id)
        tree = await tree_of(archive, history.run) if options.as_tree else None
        status = "queued" if await is_queued(archive, history) else history.run.status
    if tree is not None and options.as_json:
        out_json(tree.to_json())
    elif tree is not None:
        tree.print()
    elif options.raw:
        for line in history.lines:
            out_json_text(line.canonical().decode())
    elif options.as_json:
        out_json(_as_json(history))
    elif options.html is not None:
        _write(history, status, options.html)
    else:
        _print(history, status)
    return Exit.OK


def _as_json(history: History) -> dict[str, object]:
    state = history.run.state
    return {
        "run": history.run.id,
        "status": history.run.status,
        "reason": state.reason,
        "turns": state.turn,
        "usage": state.usage.to_json(),
        "cost_micros": state.cost_micros,
        "state": state.digest,
        "records": [line.to_json() for line in history.lines],
    }


def _write(history: History, status: str, folder: Path) -> None:
    from artificer.cli.inspect.made_page import write_pages

    begun, ended = _span(history.lines)
    heading = _heading(history, status, begun, ended)
    out(str(write_pages(history.run, heading, entries(history.lines), begun, folder)))


def _print(history: History, status: str) -> None:
    begun, ended = _span(history.lines)
    for label, text in _heading(history, status, begun, ended):
        out(f"{label:<8} {text}")
    for entry in entries(history.lines):
        if entry.turn is not None:
            out(f"\nturn {entry.turn}")
        elif entry.seq == 1:
            out()
        _print_entry(entry, begun)


def _print_entry(entry: Entry, begun: int) -> None:
    since = "" if entry.at is None else f"+{(entry.at - begun) / 1000:.3f}"
    name = f"→ {entry.name}" if entry.at is None else entry.name
    out(f"{entry.seq:>5} {since:>9}  {name:<{NAME_WIDTH}} {entry.summary}".rstrip())
    for detail in entry.details:
        out(" " * (18 + NAME_WIDTH) + one_line(detail, 3 * DETAIL))


def _span(lines: tuple[EventLine | IntentLine, ...]) -> tuple[int, int]:
    times = [line.event.at for line in lines if isinstance(line, EventLine)]
    return times[0], times[-1]


def _heading(history: History, status: str, begun: int, ended: int) -> list[tuple[str, str]]:
    run, first = history.run, history.lines[0]
    state, spec = run.state, run.state.run_spec
    release = ""
    if isinstance(first, EventLine) and isinstance(first.event, PromptReceived):
        release = f"release {first.event.release}"
    rules = count(len(spec.policy.rules), "rule")
    usage = joined(count(state.turn, "turn"), tokens(state.usage), cost(state.cost_micros))
    sandboxes = _sandboxes(run)
    return [
        ("run", run.id),
        ("status", joined(status, state.reason or "")),
        ("kind", spec.kind),
        *([("sandbox", ", ".join(sandboxes))] if sandboxes else []),
        ("model", models_in_words(state)),
        ("begun", joined(f"{utc_text(begun)} UTC", f"took {duration(ended - begun)}", release)),
        ("used", usage),
        ("policy", f"{rules}, otherwise {spec.policy.default}"),
        ("tools", one_line(", ".join(spec.tools().names) or "none", 3 * DETAIL)),
        ("prompt", one_line(spec.prompt, DETAIL)),
    ]


def _sandboxes(run: Run) -> list[str]:
    """The sandboxes that held the validations of a build."""
    specs = run.state.build.specs if run.state.build else ()
    return sorted({phase.sandbox for spec in specs for phase in spec.phases if phase.sandbox})

"""``artificer runs``: the runs of this project."""

from __future__ import annotations

from dataclasses import asdict

import click

from artificer.archive import Archive, is_of_build
from artificer.cli.common.drive import in_archive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count, moment
from artificer.runtime.summary import Summary

COLUMNS = ("RUN", "BEGUN (UTC)", "KIND", "STATUS", "RECORDS", "MODEL", "PROMPT")
PROMPT = 48
"""Characters of a prompt that are shown."""


@click.command(name="runs")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N")
@click.option("--all", "everything", is_flag=True, help="Also the runs that builds started.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@pass_settings
def command(settings: Settings, limit: int, everything: bool, as_json: bool) -> int:
    """List the newest runs of this project, the newest last.

    `open` is a run that is under way or was interrupted, `stalled` one whose model could not be
    reached: `artificer resume` goes on with both.

    \b
    Example:
      artificer runs --limit 5
    """

    async def work(world: Archive) -> Exit:
        summaries = await world.summaries(limit, builds=everything)
        if as_json:
            out_json([asdict(summary) for summary in summaries])
            return Exit.OK
        if not summaries:
            note(f"No runs in {world.config.project_folder} yet.")
            return Exit.OK
        print_table([COLUMNS, *map(_row, summaries)])
        runs = await world.runs()
        listed = [run for run in runs if everything or not is_of_build(run, runs)]
        hidden = len(listed) - len(summaries)
        if hidden:
            note(f"{count(hidden, 'older run')}: --limit shows more.")
        return Exit.OK

    return in_archive(settings, work)


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Write rows to stdout in columns as wide as they need to be; the last one is left ragged."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        out("  ".join(cells).rstrip())


def _row(summary: Summary) -> tuple[str, ...]:
    begun = moment(summary.at) if summary.at else ""
    prompt = one_line(summary.prompt, PROMPT)
    records = f"{summary.records:,}"
    model = one_line(summary.model, PROMPT)
    return (summary.run, begun, summary.kind, summary.status, records, model, prompt)

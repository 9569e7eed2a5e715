"""``artificer runs``: list the runs of this project."""

from __future__ import annotations

from msgspec import to_builtins

from artificer.cli.commands.inspect import RunsOptions
from artificer.cli.interruptible import interruptible
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, one_line, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.table import print_table
from artificer.cli.terminal.words import moment
from artificer.runtime.summary import Summary

COLUMNS = ("RUN", "STARTED (UTC)", "KIND", "STATUS", "RECORDS", "MODEL", "PROMPT")
PROMPT = 48
"""Characters of a prompt that are shown."""


@interruptible
async def runs(settings: Settings, options: RunsOptions) -> Exit:
    """Print the newest runs as a table or as JSON."""
    async with opened_archive(settings) as archive:
        # One more than is printed shows whether there are older runs.
        found = await archive.summaries(options.limit + 1, builds=options.everything)
        folder = archive.config.project_folder
    summaries = found[-options.limit :]
    if options.as_json:
        out_json(to_builtins(summaries))
        return Exit.OK
    if not summaries:
        note(f"No runs in {folder} yet.")
        return Exit.OK
    print_table([COLUMNS, *map(_row, summaries)])
    if len(found) > len(summaries):
        note("There are older runs: --limit shows more.")
    return Exit.OK


def _row(summary: Summary) -> tuple[str, ...]:
    begun = moment(summary.at) if summary.at else ""
    prompt = one_line(summary.prompt, PROMPT)
    records = f"{summary.records:,}"
    model = one_line(summary.model, PROMPT)
    return (summary.run, begun, summary.kind, summary.status, records, model, prompt)

"""The commands that show runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from artificer.cli.commands.candidates import run_argument
from artificer.cli.commands.shared import MOMENT, POSITIVE, RunAsJson, json_flag
from artificer.cli.declare import Command, argument, option, options

STATUSES = ("open", "waiting", "paused", "stalled", "completed", "partial", "failed", "cancelled")

RUN_KINDS = ("chat", "deliver", "plan", "spec", "phase", "code", "judge", "build")


@options
class RunsOptions:
    """List the newest runs of this project, newest last.

    `open` means that a run is in progress or was interrupted, `stalled` that its model could not be
    reached: `artificer resume` continues both. Filters read all runs once, into runs.db, which
    may be deleted at any time.

    \b
    Example:
      artificer runs --limit 5
      artificer runs --waiting
      artificer runs --status failed --text invoice --since 2026-11-01
    """

    limit: int = option(type=POSITIVE, default=20, show_default=True, metavar="N")
    everything: bool = option("--all", is_flag=True, help="Include runs that other runs started.")
    as_tree: bool = option(
        "--tree", is_flag=True, help="Show below each run the runs it started, with their cost."
    )
    waiting: bool = option(is_flag=True, help="Only runs that wait for a person.")
    status: str | None = option(
        type=click.Choice(STATUSES),
        metavar="STATUS",
        help=f"Only runs with this status: {', '.join(STATUSES)}.",
    )
    kind: str | None = option(
        type=click.Choice(RUN_KINDS),
        metavar="KIND",
        help="Only runs of this kind; `artificer search --help` lists them.",
    )
    model: str = option(
        default="", metavar="NAME", help="Only runs whose model's name contains this."
    )
    agent: str = option(
        default="", metavar="NAME", help="Only runs of this agent, called by other runs."
    )
    text: str = option(
        default="", metavar="WORDS", help="Only runs with all these words in the prompt."
    )
    since: datetime | None = option(
        type=MOMENT, metavar="DATE", help="Only runs that started then or later, in UTC."
    )
    until: datetime | None = option(
        type=MOMENT, metavar="DATE", help="Only runs that started before then, in UTC."
    )
    before: str | None = option(metavar="RUN", help="Only runs older than this one: the next page.")
    as_json: bool = json_flag("Print a JSON array.")


@options
class SearchOptions:
    """Find the records that contain all WORDS: prompts, replies, calls and results, newest first.

    Case and accents are ignored. A word that ends with * matches by prefix; words in double quotes
    match as a phrase. Texts are indexed when they are first searched, in search.db, which may be
    deleted at any time.

    \b
    Example:
      artificer search overdue invoice
      artificer search '"overdue invoice" pay*' --since 2026-11-01
    """

    words: tuple[str, ...] = argument(nargs=-1, required=True)
    limit: int = option(type=POSITIVE, default=20, show_default=True, metavar="N")
    kind: str | None = option(
        type=click.Choice(RUN_KINDS),
        metavar="KIND",
        help=f"Runs of a kind: {', '.join(RUN_KINDS)}.",
    )
    since: datetime | None = option(
        type=MOMENT,
        metavar="DATE",
        help="Recorded since then, in UTC: 2026-11-01 or 2026-11-01T12:30.",
    )
    as_json: bool = json_flag("Print a JSON array.")


@options
class ShowOptions:
    """Show RUN record by record: turns, calls, decisions with their rules, receipts, cost.

    The first column is the record's number, the second the time since the run started. `→` marks
    an intent: an action recorded before it is executed. Long texts are cut; --raw shows all.

    \b
    Example:
      artificer show last
      artificer show last --raw | jq .event.type
      artificer show last --tree
      artificer show last --html report
    """

    run: str = run_argument()
    as_json: bool = json_flag("Print a JSON object with all records.")
    raw: bool = option(is_flag=True, help="Print the complete records as JSON lines.")
    as_tree: bool = option("--tree", is_flag=True, help="Show the run with all runs it started.")
    html: Path | None = option(
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Write the report, and next to it a page that shows how it was made.",
    )


@options
class ExplainOptions(RunAsJson):
    """Explain RUN in ten lines: its status and why, what is pending, denied calls, next steps.

    \b
    Example:
      artificer explain last
    """


@options
class DiffOptions:
    """Compare RUN with OTHER: the first records that differ, then turn by turn.

    Compares prompt, calls, arguments, results, deliverable and cost, but not times and ids. Exits
    with 1 if the runs differ.

    \b
    Example:
      artificer fork last --model anthropic/claude-opus-4-5
      artificer diff 01m80a7sd6 last
    """

    run: str = run_argument()
    other: str = argument()
    as_json: bool = json_flag("Print a JSON object, untruncated.")


@options
class OpenOptions:
    """Open RUN's report in the browser; the page is written if it does not exist.

    Without a display, only the path is printed.

    \b
    Example:
      artificer open last
    """

    run: str = run_argument()
    only_print: bool = option("--print", is_flag=True, help="Only print the path.")


runs = Command("runs", RunsOptions, "inspect.runs:runs")
search = Command("search", SearchOptions, "inspect.search:search")
show = Command("show", ShowOptions, "inspect.show:show")
explain = Command("explain", ExplainOptions, "inspect.explain:explain")
diff = Command("diff", DiffOptions, "inspect.diff:diff")
open_ = Command("open", OpenOptions, "inspect.open:open_report")

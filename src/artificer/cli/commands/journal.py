"""The commands that check and maintain a world."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from artificer.cli.commands.numbers import RealOption, WholeOption
from artificer.cli.commands.shared import FILE, MOMENT, RunAsJson, json_flag
from artificer.cli.declare import Command, argument, option, options

NOT_NEGATIVE = RealOption(min=0)


@options
class ReplayOptions(RunAsJson):
    """Replay RUN's journal and compare every state, intent and model request byte for byte.

    No model is asked and no tool runs. Prints `identical` with the digest of the last state, or the
    first divergence; then the exit code is 1.

    \b
    Example:
      artificer replay last
    """


@options
class VerifyOptions:
    """Check every record, chain and blob of this project; print all problems and exit with 1.

    Prints the head of each run and of the world's chain, which also covers signals, budgets and
    workspaces. A head is the number and the hash of the last record and covers all before it. Keep
    the heads where those who can write this project cannot. With --against, each kept head is
    compared with today's journal: "same", "extends" (records were added), "diverged" (its history
    was rewritten) or "missing" (it was cut off or deleted). The last two are problems.

    \b
    Example:
      artificer verify > heads.txt             # keep this file elsewhere
      artificer verify --against heads.txt     # a week later
    """

    against: Path | None = option(
        metavar="HEADS", type=FILE, help="Compare with heads that verify printed before."
    )
    as_json: bool = json_flag("Print a JSON object.")


@options
class AuditOptions:
    """Print every decision and effect of all runs, in order: one JSON object per line.

    It shows which runs started, how calls were judged, who approved, denied, steered, ticked or
    cancelled and why, which calls started and how they returned. Arguments and results are given
    as digests. The last line has the number and the digest of the lines, and the head of the
    world's chain, which `artificer verify --against` compares.

    \b
    Example:
      artificer audit > audit.jsonl
      artificer audit --since 2026-11-01 | jq 'select(.what == "approved")'
      tail -n 1 audit.jsonl > head.json && artificer verify --against head.json
    """

    since: datetime | None = option(
        type=MOMENT,
        metavar="DATE",
        help="Recorded since then, in UTC: 2026-11-01 or 2026-11-01T12:30.",
    )


@options
class FsckOptions:
    """Check the whole project: records, chains, heads, blobs, and unreferenced files.

    A problem is something changed or missing, or a run that was pruned only in part; the exit code
    is then 1. An orphan is a blob that nothing refers to, a leftover is a file whose writing was
    interrupted: both are harmless. A foreign file was not written by Artificer; it is listed and
    never touched. --repair restores the tables of budgets and workspaces from the chain if the
    chain is intact, removes leftovers and moves orphans to blobs/quarantine.

    \b
    Example:
      artificer fsck
      artificer fsck --repair
    """

    repair: bool = option(
        is_flag=True, help="Restore tables, quarantine orphans, remove leftovers."
    )
    as_json: bool = json_flag("Print a JSON object.")


@options
class BudgetOptions:
    """Show what this project has spent today, and what is left of its budget.

    Days are UTC days. The budget is [budget] in artificer.toml; all runs of the project share it,
    in all processes. The possible cost of requests in progress is reserved. Dollars are counted if
    the model's price is known.

    A provider that reported too much can use up a day's budget. --set-tokens and --set-dollars set
    the real cost; the correction is recorded in the journal with your name and the reason.

    \b
    Example:
      artificer budget --json
      artificer budget --set-tokens 12000 --reason "The invoice says so."
    """

    as_json: bool = json_flag("Print a JSON object.")
    set_tokens: int | None = option(type=WholeOption(min=0), help="Correct a day's tokens.")
    set_dollars: float | None = option(
        type=RealOption(0, 1_000_000_000), help="Correct a day's dollars."
    )
    day: datetime | None = option(
        type=click.DateTime(["%Y-%m-%d"]), help="The day to correct. Default: today."
    )
    reason: str = option(default="", help="The reason for the correction; it is recorded.")


@options
class GcOptions:
    """Remove the blobs that no record refers to, directly or through another blob.

    Runs may continue meanwhile. If anything cannot be read, nothing is removed.

    \b
    Example:
      artificer gc --dry-run
    """

    dry_run: bool = option(is_flag=True, help="Only print what would be removed.")
    older_than: float = option(
        type=NOT_NEGATIVE,
        default=60,
        show_default=True,
        metavar="MINUTES",
        help="Keep newer blobs: a run may be about to refer to them.",
    )
    as_json: bool = json_flag("Print a JSON object.")


@options
class PruneOptions:
    """Delete the contents of finished RUNS: prompts, replies, results, signals, reports.

    A tombstone with the number of records and their hashes remains, so `artificer verify` still
    works. The next `artificer gc` removes blobs that nothing else refers to. Pruning a build also
    prunes the runs it started, and its repository. A run that can continue is refused, or skipped
    with --older-than; so is a completed build that was never promoted, unless you pass --discard.
    --older-than also does the rest where a pruning was interrupted.

    \b
    Example:
      artificer prune --older-than 90
      artificer prune --older-than 90 --forever
    """

    runs: tuple[str, ...] = argument(nargs=-1)
    older_than: float | None = option(
        type=NOT_NEGATIVE, metavar="DAYS", help="Also all runs that ended earlier."
    )
    reason: str = option(default="", metavar="TEXT", help="The reason; the tombstone contains it.")
    forever: bool = option(
        is_flag=True, help="Delete. Without it, only list what would be deleted."
    )
    discard: bool = option(is_flag=True, help="Include completed builds that were never promoted.")


replay = Command("replay", ReplayOptions, "journal.replay:replay")
verify = Command("verify", VerifyOptions, "journal.verify:verify")
audit = Command("audit", AuditOptions, "journal.audit:audit")
fsck = Command("fsck", FsckOptions, "journal.fsck:fsck")
budget = Command("budget", BudgetOptions, "journal.budget:budget")
gc = Command("gc", GcOptions, "journal.gc:gc")
prune = Command("prune", PruneOptions, "journal.prune:prune")

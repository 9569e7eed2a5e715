"""``artificer runs``: list the runs of this project."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import click
from msgspec import to_builtins

from artificer.archive import Archive
from artificer.cli.commands.inspect import RunsOptions
from artificer.cli.configuration import configuration
from artificer.cli.inspect.show_tree import Tree, tree_of
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, one_line, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.table import print_table
from artificer.cli.terminal.words import cost, milliseconds, sum_of
from artificer.cli.terminal.working import working
from artificer.errors import ArtificerError
from artificer.runtime.listing.lister import RunFilter
from artificer.runtime.listing.summary import RunSummary
from artificer.runtime.progress import ReportProgress
from artificer.system.utc import utc_text

OF_TREE = ("RUN", "STARTED (UTC)", "WHAT", "STATUS", "TURNS", "TOKENS", "COST", "PROMPT")
COLUMNS = ("RUN", "STARTED (UTC)", "KIND", "STATUS", "RECORDS", "MODEL", "PROMPT")
PROMPT = 48
"""Characters of a prompt that are shown."""


async def runs(settings: Settings, options: RunsOptions) -> Exit:
    """Print the newest runs as a table or as JSON."""
    if options.as_tree and options.everything:
        raise click.UsageError("--tree and --all exclude each other.")
    filters = _filters(options)
    async with Archive.open(configuration(settings), indexing=bool(filters)) as archive:
        before = await archive.find(options.before) if options.before else None
        if filters:
            with working(settings) as report:
                summaries, older = await _filtered(archive, options.limit, before, filters, report)
        else:
            summaries, older = await _newest(archive, options, before)
        config = archive.config
        trees = [await _tree(archive, of) for of in summaries] if options.as_tree else None
    if options.as_json:
        out_json(to_builtins(summaries) if trees is None else [*map(_as_json, summaries, trees)])
        return Exit.OK
    if not summaries:
        # A URL may hold a password, and the folder is not where its runs are.
        place = config.project_folder if config.storage == "sqlite" else "this world"
        note("No such runs." if filters or options.before else f"No runs in {place} yet.")
        return Exit.OK
    if trees is None:
        print_table([COLUMNS, *map(_row, summaries)])
    else:
        below = map(_rows_of_tree, summaries, trees)
        print_table([OF_TREE, *chain.from_iterable(below)])
    if older:
        note(
            f"There are older runs: --limit shows more, --before {summaries[0].run} the next ones."
        )
    return Exit.OK


def _filters(options: RunsOptions) -> RunFilter:
    """Return what was asked of the runs. One that waits may have been started by another one."""
    wanted: RunFilter = {
        "status": options.status,
        "kind": options.kind,
        "model": options.model,
        "agent": options.agent,
        "text": options.text,
        "waiting": options.waiting,
        "since": milliseconds(options.since) or 0,
        "until": milliseconds(options.until),
    }
    if options.until is None and not any(wanted.values()):
        return {}
    builds = options.everything or options.waiting or bool(options.agent)
    return {**wanted, "builds": builds}


async def _filtered(
    archive: Archive, limit: int, before: str | None, wanted: RunFilter, report: ReportProgress
) -> tuple[Sequence[RunSummary], bool]:
    page = await archive.list_runs(limit, before, progress=report, **wanted)
    return page.runs[::-1], page.next is not None


async def _newest(
    archive: Archive, options: RunsOptions, before: str | None
) -> tuple[Sequence[RunSummary], bool]:
    # One more than is printed shows whether there are older runs.
    found = await archive.summaries(options.limit + 1, builds=options.everything, before=before)
    return found[-options.limit :], len(found) > options.limit


def _row(summary: RunSummary) -> tuple[str, ...]:
    begun = utc_text(summary.at) if summary.at else ""
    prompt = one_line(summary.prompt, PROMPT)
    records = f"{summary.records:,}"
    model = one_line(summary.model, PROMPT)
    return (summary.run, begun, summary.kind, _stands(summary), records, model, prompt)


def _stands(summary: RunSummary) -> str:
    return "queued" if summary.queued else summary.status


async def _tree(archive: Archive, summary: RunSummary) -> Tree | None:
    """A run with those below it; None if its records do not say."""
    try:
        return await tree_of(archive, await archive.get(summary.run))
    except ArtificerError:
        return None


def _as_json(summary: RunSummary, tree: Tree | None) -> dict[str, object]:
    shown: dict[str, object] = to_builtins(summary)
    if tree is None:
        return shown
    state = tree.run.state
    used = {"turns": state.turn, "usage": state.usage.to_json(), "cost_micros": state.cost_micros}
    return {**shown, **used, "runs": tree.as_json()}


def _rows_of_tree(summary: RunSummary, tree: Tree | None) -> list[tuple[str, ...]]:
    """A run and those that it started, with what each has used, its own children included."""
    begun = utc_text(summary.at) if summary.at else ""
    prompt = one_line(summary.prompt, PROMPT)
    if tree is None:
        return [(summary.run, begun, summary.kind, _stands(summary), "", "", "", prompt)]
    state = tree.run.state
    used = (str(state.turn), sum_of(state.usage), cost(state.cost_micros))
    rows: list[tuple[str, ...]] = [
        (summary.run, begun, summary.kind, _stands(summary), *used, prompt)
    ]
    for node in tree.nodes:
        name = "  " * node.depth + node.run.removeprefix(summary.run)
        used = (str(node.turns), sum_of(node.usage), cost(node.cost_micros))
        rows.append((name, "", node.name, node.status, *used, ""))
    return rows

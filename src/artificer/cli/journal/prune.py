"""``artificer prune``: delete the contents of finished runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import get_args

import click

from artificer.archive import Archive, runs_half_pruned
from artificer.artifacts.ref import DeliverableStatus
from artificer.cli.commands.journal import PruneOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import complain, note, one_line, out
from artificer.cli.terminal.exits import Exit, exit_of
from artificer.cli.terminal.words import count
from artificer.config import Config
from artificer.errors import OperatorError
from artificer.runtime.listing.runs import is_of_build
from artificer.runtime.listing.summary import RunSummary
from artificer.system.utc import utc_text
from artificer.wiring.builds import unpromoted
from artificer.world import World

_OVER = get_args(DeliverableStatus)
"""The statuses of runs that cannot continue."""

_WITHOUT_CONTENTS = ("pruned", "unreadable")
"""The statuses of runs of which nothing is known: one may be pruned by its name alone."""


async def prune(settings: Settings, options: PruneOptions) -> Exit:
    """Delete the contents of runs, or list the runs."""
    if not options.runs and options.older_than is None:
        raise click.UsageError("Name runs, or use --older-than DAYS.")
    config = configuration(settings)
    async with Archive.open(config) as archive:
        chosen = await _choose(archive, config, options)
    if not options.forever:
        for summary in chosen:
            _print(summary)
        note(f"would prune {count(len(chosen), 'run')}; --forever deletes them")
        return Exit.OK
    async with World.open(config) as world:
        failed = [exit_of(e) for s in chosen if (e := await _pruned(world, s, options))]
    note(f"pruned {count(len(chosen) - len(failed), 'run')}")
    return failed[0] if failed else Exit.OK


async def _pruned(world: World, summary: RunSummary, options: PruneOptions) -> OperatorError | None:
    """Prune a run and print it; or return the error, which is printed: the others do not wait."""
    try:
        await world.maintenance.prune(
            summary.run, by=user_name(), reason=options.reason, discard=options.discard
        )
    except OperatorError as error:
        complain(error.message, error.hint)
        return error
    _print(summary)
    return None


def _print(summary: RunSummary) -> None:
    begun = utc_text(summary.at) if summary.at else ""
    about = one_line(summary.prompt, 60) if summary.status != "pruned" else "(pruned in part)"
    out(f"{summary.run}  {begun}  {about}".rstrip())


async def _choose(archive: Archive, config: Config, options: PruneOptions) -> list[RunSummary]:
    """The runs to prune, with those that these or named ones started.

    Of those that were pruned before, only the ones of which something is left.
    Raises OperatorError for one that was named and can continue, before anything is pruned.
    """
    named = [await archive.find(word) for word in options.runs]
    half = await runs_half_pruned(archive)
    every = [s for s in await archive.summaries() if s.status != "pruned" or s.run in half]
    statuses = {s.run: s.status for s in every}
    _require_ended(named, statuses)
    chosen = [s for s in every if s.run in named or _is_old(s, statuses, options.older_than)]
    if not options.discard:
        chosen = await _promoted(archive, config, chosen, named)
    for run in named:
        if run not in statuses:
            note(f"skipped: {run} was pruned before")
    return chosen + _started_by([*named, *(s.run for s in chosen)], every)


def _require_ended(named: list[str], statuses: Mapping[str, str]) -> None:
    """Raise OperatorError for a run that can continue, or that one which can may still read."""
    for run in named:
        if statuses.get(run, "pruned") == "pruned":
            continue  # it went before: the rest, if any, goes too
        if _goes_on(statuses.get(run, "")):
            raise OperatorError(
                f"Run {run} is not finished ({statuses[run]}): it cannot be pruned.",
                hint=f"End it first: artificer cancel {run}",
            )
        if above := _unfinished_above(run, statuses):
            raise OperatorError(
                f"Run {run} is part of {above}, which is not finished ({statuses[above]}) and may "
                "still read its result: it cannot be pruned.",
                hint=f"End that one first: artificer cancel {above}",
            )


def _started_by(builds: list[str], every: list[RunSummary]) -> list[RunSummary]:
    """The other finished runs that these started."""
    found = [s for s in every if _belongs_to(s.run, builds)]
    for summary in found:
        if _goes_on(summary.status):
            note(f"skipped: {summary.run} is not finished ({summary.status})")
    return [s for s in found if not _goes_on(s.status)]


async def _promoted(
    archive: Archive, config: Config, chosen: list[RunSummary], named: list[str]
) -> list[RunSummary]:
    """The runs that hold no unpromoted work. Raises OperatorError for one that was named."""
    safe, kept = [], []
    for summary in chosen:
        lost = ""
        if summary.status == "completed":
            lost = await unpromoted(config, summary.run, (await archive.get(summary.run)).state)
        if lost and summary.run in named:
            raise OperatorError(
                lost,
                hint=f"artificer build promote {summary.run}, or prune it with --discard.",
            )
        if lost:
            note(f"skipped: {lost}")
            kept.append(summary.run)
        else:
            safe.append(summary)
    begun = {*named, *(s.run for s in safe if s.status == "pruned")}
    return [s for s in safe if s.run in begun or not _belongs_to(s.run, kept)]


def _belongs_to(run: str, builds: list[str]) -> bool:
    return run not in builds and is_of_build(run, builds)


def _goes_on(status: str) -> bool:
    return bool(status) and status not in (*_OVER, *_WITHOUT_CONTENTS)


def _unfinished_above(run: str, statuses: Mapping[str, str]) -> str:
    """The run that this one is part of which continues, and so may still read its result."""
    above = run.rpartition(".")[0]
    while above and not _goes_on(statuses.get(above, "")):
        above = above.rpartition(".")[0]
    return above


def _is_old(summary: RunSummary, statuses: Mapping[str, str], older_than: float | None) -> bool:
    """Whether a run ended that many days ago, and no unfinished run may still read its result.

    So is one that was pruned in part, however lately: somebody has decided that it goes.
    """
    if older_than is None or summary.status not in (*_OVER, "pruned"):
        return False
    if summary.status == "pruned":
        return True
    if _unfinished_above(summary.run, statuses):
        return False
    return summary.changed < (time.time() - older_than * 86_400) * 1000

"""``artificer prune``: delete the contents of finished runs."""

from __future__ import annotations

import time

import click

from artificer.archive import is_of_build
from artificer.cli.commands.journal import PruneOptions
from artificer.cli.interruptible import interruptible
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note, one_line, out
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.errors import OperatorError
from artificer.runtime.summary import RunSummary
from artificer.utc import utc_text
from artificer.world import World

_KEPT = ("open", "stalled", "paused", "pruned", "unreadable")


@interruptible
async def prune(settings: Settings, options: PruneOptions) -> Exit:
    """Delete the contents of runs, or list the runs."""
    if not options.runs and options.older_than is None:
        raise click.UsageError("Name runs, or use --older-than DAYS.")
    async with opened_world(settings) as world:
        chosen = await _choose(world, options)
        for summary in chosen:
            if options.forever:
                await world.maintenance.prune(
                    summary.run, by=user_name(), reason=options.reason, discard=options.discard
                )
            begun = utc_text(summary.at) if summary.at else ""
            out(f"{summary.run}  {begun}  {one_line(summary.prompt, 60)}".rstrip())
    word = "pruned" if options.forever else "would prune"
    hint = "" if options.forever else "; --forever deletes them"
    note(f"{word} {count(len(chosen), 'run')}{hint}")
    return Exit.OK


async def _choose(world: World, options: PruneOptions) -> list[RunSummary]:
    """The runs to prune, with those that chosen builds started."""
    named = [await world.archive.find(run) for run in options.runs]
    every = await world.archive.summaries()
    chosen = [s for s in every if _is_chosen(s, named, options.older_than)]
    if not options.discard:
        chosen = await _promoted(world, chosen, named)
    builds = [s.run for s in chosen]
    return chosen + [s for s in every if s.status != "pruned" and _belongs_to(s.run, builds)]


async def _promoted(world: World, chosen: list[RunSummary], named: list[str]) -> list[RunSummary]:
    """The runs that hold no unpromoted work. Raises OperatorError for one that was named."""
    safe, kept = [], []
    for summary in chosen:
        lost = await world.builds.unpromoted(summary.run) if summary.status == "completed" else ""
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
    return [s for s in safe if s.run in named or not _belongs_to(s.run, kept)]


def _belongs_to(run: str, builds: list[str]) -> bool:
    return run not in builds and is_of_build(run, builds)


def _is_chosen(summary: RunSummary, named: list[str], older_than: float | None) -> bool:
    """A named run is chosen whatever its status, so that a refusal is reported."""
    if summary.run in named:
        return True
    if older_than is None or summary.status in _KEPT:
        return False
    return summary.at < (time.time() - older_than * 86_400) * 1000

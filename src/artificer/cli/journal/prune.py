"""``artificer prune``: finished runs, removed for good."""

from __future__ import annotations

import getpass
import time

import click

from artificer.archive import is_of_build
from artificer.cli.common.drive import in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, one_line, out
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count, moment
from artificer.errors import OperatorError
from artificer.runtime.summary import Summary
from artificer.world import World

_KEPT = ("open", "stalled", "paused", "pruned", "unreadable")


@click.command(name="prune")
@click.argument("runs", nargs=-1)
@click.option(
    "--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="All begun before."
)
@click.option("--reason", default="", metavar="TEXT", help="Why; it stands in the tombstone.")
@click.option("--forever", is_flag=True, help="Do it. Without this, it is only said.")
@click.option("--discard", is_flag=True, help="Also completed builds that were never promoted.")
@pass_settings
def command(
    settings: Settings,
    runs: tuple[str, ...],
    older_than: float | None,
    reason: str,
    forever: bool,
    discard: bool,
) -> int:
    """Remove what finished RUNS said: prompts, replies, results, letters, reports. For good.

    A tombstone says how many records there were, and their hashes stay, so that `artificer verify`
    still tells the truth. Blobs that nothing else refers to go with the next `artificer gc`. With a
    build go the runs that it started, and its repository. A completed build that was never
    promoted is refused, or passed over with --older-than, unless you say --discard.

    \b
    Example:
      artificer prune --older-than 90
      artificer prune --older-than 90 --forever
    """
    if not runs and older_than is None:
        raise click.UsageError("Name runs, or --older-than DAYS.")

    async def work(world: World) -> Exit:
        named = [await world.find(run) for run in runs]
        every = await world.summaries()
        chosen = [s for s in every if _chosen(s, named, older_than)]
        if not discard:
            chosen = await _safe(world, chosen, named)
        taken = [s.run for s in chosen]
        chosen += [s for s in every if s.status != "pruned" and _goes_with(s.run, taken)]
        for summary in chosen:
            if forever:
                await world.prune(summary.run, by=getpass.getuser(), reason=reason, discard=discard)
            begun = moment(summary.at) if summary.at else ""
            out(f"{summary.run}  {begun}  {one_line(summary.prompt, 60)}".rstrip())
        word = "pruned" if forever else "would prune"
        hint = "" if forever else "; --forever does it"
        note(f"{word} {count(len(chosen), 'run')}{hint}")
        return Exit.OK

    return in_world(settings, work)


async def _safe(world: World, chosen: list[Summary], named: list[str]) -> list[Summary]:
    """Those with which no work is lost. Raises OperatorError for one that was named."""
    safe, kept = [], []
    for summary in chosen:
        lost = await world.unpromoted(summary.run) if summary.status == "completed" else ""
        if lost and summary.run in named:
            raise OperatorError(
                lost,
                hint=f"artificer build promote {summary.run}; or prune it with --discard.",
            )
        if lost:
            note(f"passed over: {lost}")
            kept.append(summary.run)
        else:
            safe.append(summary)
    return [s for s in safe if s.run in named or not _goes_with(s.run, kept)]


def _goes_with(run: str, builds: list[str]) -> bool:
    return run not in builds and is_of_build(run, builds)


def _chosen(summary: Summary, named: list[str], older_than: float | None) -> bool:
    """A run that was named is chosen whatever its status, so that a refusal is told."""
    if summary.run in named:
        return True
    if older_than is None or summary.status in _KEPT:
        return False
    return summary.at < (time.time() - older_than * 86_400) * 1000

"""``artificer cancel``: end a run that nobody will go on with."""

from __future__ import annotations

import click

from artificer.cli.common.drive import in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.world import World


@click.command(name="cancel")
@click.argument("run")
@click.option("--reason", default="", help="Why; it is recorded.")
@pass_settings
def command(settings: Settings, run: str, reason: str) -> int:
    """End RUN: its open calls are answered `cancelled`, and what exists is delivered.

    A process that still drives the run is fenced: it can record nothing more and stops.

    \b
    Example:
      artificer cancel last --reason "asked the wrong question"
    """

    async def work(world: World) -> Exit:
        run_id = await world.find(run)
        before = (await world.get(run_id)).run.state.status
        after = (await world.cancel(run_id, reason)).status
        if before is not None:
            note(f"run {run_id} had ended before")
        out(after)
        return Exit.OK

    return in_world(settings, work)

"""``artificer pause``: let nothing new begin in a run until it is resumed."""

from __future__ import annotations

import click

from artificer.cli.common.ask_here import who
from artificer.cli.common.drive import in_world
from artificer.cli.common.post import leave
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.exits import Exit
from artificer.core.letters import Pause
from artificer.world import World


@click.command(name="pause")
@click.argument("run")
@click.option("--reason", default="", help="Why; it is recorded.")
@pass_settings
def command(settings: Settings, run: str, reason: str) -> int:
    """Let nothing new begin in RUN; what is under way comes to its end and is recorded.

    The process that drives it then stops, and `artificer resume` goes on.

    \b
    Example:
      artificer pause last && artificer explain last && artificer resume last
    """

    async def work(world: World) -> Exit:
        return await leave(world, await world.find(run), Pause(by=who(), reason=reason))

    return in_world(settings, work)

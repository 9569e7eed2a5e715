"""``artificer interrupt``: end a run when what is under way has come to its end."""

from __future__ import annotations

import click

from artificer.cli.common.ask_here import who
from artificer.cli.common.drive import in_world
from artificer.cli.common.post import leave
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.exits import Exit
from artificer.core.letters import Interrupt
from artificer.world import World


@click.command(name="interrupt")
@click.argument("run")
@click.option("--reason", default="", help="Why; it is recorded.")
@pass_settings
def command(settings: Settings, run: str, reason: str) -> int:
    """End RUN gently: calls and replies under way come to their end, nothing new begins.

    Calls that had not begun are answered `cancelled`, and what exists is delivered. `artificer
    cancel` does not wait.

    \b
    Example:
      artificer interrupt last --reason "that is enough"
    """

    async def work(world: World) -> Exit:
        return await leave(world, await world.find(run), Interrupt(by=who(), reason=reason))

    return in_world(settings, work)

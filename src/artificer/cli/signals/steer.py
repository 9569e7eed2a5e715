"""``artificer steer``: say something to the model of a run that is under way."""

from __future__ import annotations

import click

from artificer.cli.common.ask_here import who
from artificer.cli.common.drive import in_world
from artificer.cli.common.post import leave
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.exits import Exit
from artificer.core.letters import Steer
from artificer.world import World


@click.command(name="steer")
@click.argument("run")
@click.argument("text")
@pass_settings
def command(settings: Settings, run: str, text: str) -> int:
    """Say TEXT to the model of RUN before its next reply, whichever process drives it.

    A run whose answer was just accepted goes on for another one. A finished run is asked more with
    `artificer follow-up`.

    \b
    Example:
      artificer steer last "Leave out the prices."
    """

    async def work(world: World) -> Exit:
        return await leave(world, await world.find(run), Steer(by=who(), text=text))

    return in_world(settings, work)

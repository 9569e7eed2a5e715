"""``artificer cancel``: end a run at once."""

from __future__ import annotations

from artificer.cli.commands.signals import CancelOptions
from artificer.cli.interruptible import interruptible
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit


@interruptible
async def cancel(settings: Settings, options: CancelOptions) -> Exit:
    """End the run and print its status."""
    async with opened_world(settings) as world:
        run_id = await world.archive.find(options.run)
        before = (await world.get(run_id)).state.status
        after = (await world.cancel(run_id, options.reason)).status
        if before is not None:
            note(f"run {run_id} had already ended")
        out(after)
        return Exit.OK

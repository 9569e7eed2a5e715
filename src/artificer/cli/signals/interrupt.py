"""``artificer interrupt``: end a run after what is in progress has finished."""

from __future__ import annotations

from artificer.cli.commands.signals import InterruptOptions
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.signals.send import send_signal
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.exits import Exit
from artificer.core.signals import Interrupt


async def interrupt(settings: Settings, options: InterruptOptions) -> Exit:
    """Send the signal."""
    async with opened_run(settings, options.run) as (world, run_id):
        return await send_signal(world, run_id, Interrupt(by=user_name(), reason=options.reason))

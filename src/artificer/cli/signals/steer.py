"""``artificer steer``: send a message to the model of a run in progress."""

from __future__ import annotations

from artificer.cli.commands.signals import SteerOptions
from artificer.cli.execution.prompt import read_attachments, read_prompt
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.signals.send import send_signal
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.exits import Exit
from artificer.core.signals import Steer


async def steer(settings: Settings, options: SteerOptions) -> Exit:
    """Send the message."""
    text = read_prompt(options.text)
    attachments = read_attachments(options.attach)
    async with opened_run(settings, options.run) as (world, run_id):
        message = Steer(by=user_name(), text=text).verified()
        return await send_signal(world, run_id, message, attachments)

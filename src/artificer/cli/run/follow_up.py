"""``artificer follow-up``: send another prompt to the conversation of a finished run."""

from __future__ import annotations

from artificer.cli.commands.run import FollowUpOptions
from artificer.cli.execution.agents import load_agent
from artificer.cli.execution.follow import following_run
from artificer.cli.execution.outcome import deliver
from artificer.cli.execution.prompt import read_attachments, read_prompt
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import approver_for, user_name
from artificer.cli.terminal.exits import Exit
from artificer.core.signals import FollowUp
from artificer.wiring.engines import Attendance
from artificer.world import follow_up as continued


async def follow_up(settings: Settings, options: FollowUpOptions) -> Exit:
    """Send the prompt to a run, resume it and deliver its outcome."""
    prompt = read_prompt(options.prompt)
    attachments = read_attachments(options.attach)
    with following_run(settings) as progress:
        async with opened_run(settings, options.run, options) as (world, run_id):
            agent = load_agent(options.agent, options.tools)
            message = FollowUp(by=user_name(), text=prompt).verified()
            approver = approver_for(progress.screen, unattended=options.unattended)
            attendance = Attendance(approver, observer=progress)
            finished = await continued(world, run_id, message, agent, attachments, attendance)
            return await deliver(world, finished, progress, options)

"""``artificer resume``: continue a run where its journal ends."""

from __future__ import annotations

from artificer.cli.commands.run import ResumeOptions
from artificer.cli.execution.agents import load_agent
from artificer.cli.execution.decider import decider_for
from artificer.cli.execution.follow import following_run
from artificer.cli.execution.outcome import deliver
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import approver_for
from artificer.cli.terminal.exits import Exit


async def resume(settings: Settings, options: ResumeOptions) -> Exit:
    """Continue a run and deliver its outcome."""
    with following_run(settings) as progress:
        async with opened_run(settings, options.run, options) as (world, run_id):
            finished = await world.resume(
                run_id,
                load_agent(options.agent, options.tools),
                approver=approver_for(progress.screen, unattended=options.unattended),
                observer=progress,
                decider=decider_for(progress.screen, yes=options.yes),
                take_over=options.take_over,
                build_tokens=options.total_tokens,
            )
            return await deliver(world, finished, progress, options)

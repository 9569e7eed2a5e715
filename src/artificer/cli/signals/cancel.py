"""``artificer cancel``: end a run at once."""

from __future__ import annotations

import asyncio

from artificer.cli.commands.signals import CancelOptions
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.core.idle import is_idle
from artificer.core.signals import Cancel
from artificer.world import World

CHECKS, PAUSE_S = 12, 0.25
"""How often, and how many seconds apart, to check whether a worker has ended the run."""


async def cancel(settings: Settings, options: CancelOptions) -> Exit:
    """End the run and print its status."""
    async with opened_run(settings, options.run) as (world, run_id):
        signal = Cancel(by=user_name(), reason=options.reason)
        found = (await world.get(run_id)).state
        before = found.status
        if found.run_spec.submission is not None and not is_idle(found):
            await _let_worker_end(world, run_id, signal)
        after = (await world.cancel(run_id, signal.reason, signal.by)).status
        if before is not None:
            note(f"run {run_id} had already ended")
        out(after)
        return Exit.OK


async def _let_worker_end(world: World, run: str, signal: Cancel) -> None:
    """Let the worker that executes a run end it, with the tools that are in progress.

    Otherwise it would learn only when a tool ends that the run has ended.
    """
    await world.send(run, signal)
    for _ in range(CHECKS):
        await asyncio.sleep(PAUSE_S)
        if (await world.get(run)).state.status is not None:
            return

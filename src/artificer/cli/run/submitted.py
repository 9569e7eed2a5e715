"""``artificer run --submit``: record the beginning of a run, which workers execute."""

from __future__ import annotations

import click

from artificer.agent import Agent
from artificer.cli.commands.run import RunOptions
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.core.submission import USUAL
from artificer.dispatch.kinds import announce
from artificer.errors import InvalidValueError, OperatorError
from artificer.ports import DispatchedRun, Prompt
from artificer.world import World


def check_submitted(options: RunOptions) -> None:
    """Refuse options that mean nothing together. Raises UsageError."""
    only = {"--priority": options.priority, "--tenant": options.tenant, "--lane": options.lane}
    if options.submit:
        name = "--out" if options.out else "--unattended" if options.unattended else ""
        if name:
            raise click.UsageError(f"{name} cannot be combined with --submit.")
        return
    for name, value in only.items():
        if value is not None:
            raise click.UsageError(f"{name} needs --submit.")


async def submit(world: World, prompt: Prompt, agent: Agent, options: RunOptions) -> Exit:
    """Submit a run and print its id."""
    tenant, lane = options.tenant or "", options.lane or ""
    wanted = DispatchedRun("", options.priority or USUAL, tenant, lane)
    try:
        run = await world.submit(
            prompt,
            agent,
            name=options.agent or "",
            priority=wanted.priority,
            tenant=tenant,
            lane=lane,
        )
    except InvalidValueError as error:
        what = error.pointer.removeprefix("/")
        raise click.UsageError(
            f"--{what}: use 1 to 64 letters, digits, '.', '_' or '-'."
        ) from error
    try:
        await announce(world, DispatchedRun(run, wanted.priority, tenant, lane))
    except OperatorError as error:
        note(f"{error.message} Workers find the run all the same.", "bad")
    if options.as_json:
        out_json({"run": run, "status": "open"})
    else:
        out(run)
    return Exit.OK

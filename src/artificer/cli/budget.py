"""``artificer budget``: what is left of the day."""

from __future__ import annotations

from dataclasses import asdict

import click

from artificer.archive import Archive
from artificer.cli.console import out, out_json
from artificer.cli.drive import in_archive
from artificer.cli.exits import Exit
from artificer.cli.settings import Settings, pass_settings
from artificer.cli.words import cost
from artificer.runtime.allowance import Left


@click.command(name="budget")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@pass_settings
def command(settings: Settings, as_json: bool) -> int:
    """Say what this project has spent today, and what is left of its budget.

    Days are those of UTC. The budget is [budget] in artificer.toml, and is spent by all runs of the
    project, in all processes. What requests under way may still cost is reserved. Dollars are
    counted where the price of the model is known.

    \b
    Example:
      artificer budget --json
    """

    async def work(world: Archive) -> Exit:
        left = await world.budget()
        if as_json:
            out_json(asdict(left))
        else:
            out(_line(left))
        return Exit.OK

    return in_archive(settings, work)


def _line(left: Left) -> str:
    spent, most = left.spent, left.most
    lines = [f"today    {left.day} (UTC)"]
    if most.tokens is None and most.micros is None:
        lines.append("budget   none: set [budget] in artificer.toml")
    for name, limit, settled, reserved, write in (
        ("tokens", most.tokens, spent.settled.tokens, spent.reserved.tokens, _number),
        ("dollars", most.micros, spent.settled.micros, spent.reserved.micros, cost),
    ):
        told = f"{write(settled)} spent"
        if reserved:
            told += f", {write(reserved)} reserved"
        if limit is not None:
            told += f", {write(max(0, limit - settled - reserved))} left of {write(limit)}"
        lines.append(f"{name:<8} {told}")
    return "\n".join(lines)


def _number(value: int) -> str:
    return f"{value:,}"

"""``artificer budget``: what is left of the day, and putting a day right."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import click

from artificer.archive import Archive
from artificer.cli.common.ask_here import who
from artificer.cli.common.drive import in_archive, in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import cost
from artificer.money import micros
from artificer.runtime.budgets import DayBudget
from artificer.world import World


@click.command(name="budget")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option("--set-tokens", type=click.IntRange(min=0), help="Correct the tokens of a day.")
@click.option("--set-dollars", type=click.FloatRange(min=0), help="Correct the dollars of a day.")
@click.option("--day", type=click.DateTime(["%Y-%m-%d"]), help="The day to correct, if not today.")
@click.option("--reason", default="", help="Why it is corrected: kept in the journal.")
@pass_settings
def command(
    settings: Settings,
    as_json: bool,
    set_tokens: int | None,
    set_dollars: float | None,
    day: datetime | None,
    reason: str,
) -> int:
    """Say what this project has spent today, and what is left of its budget.

    Days are those of UTC. The budget is [budget] in artificer.toml, and is spent by all runs of the
    project, in all processes. What requests under way may still cost is reserved. Dollars are
    counted where the price of the model is known.

    A provider that reported too much locks the day. --set-tokens and --set-dollars say what it has
    really cost; the correction stays in the journal, with your name and the reason.

    \b
    Example:
      artificer budget --json
      artificer budget --set-tokens 12000 --reason "The invoice says so."
    """
    if set_tokens is None and set_dollars is None:
        if day is not None or reason:
            raise click.UsageError("--day and --reason go with --set-tokens or --set-dollars.")
        return in_archive(settings, lambda world: _show(world, as_json))
    if not reason:
        raise click.UsageError("Say why: --reason TEXT.")

    async def correct(world: World) -> Exit:
        of = None if day is None else day.date().isoformat()
        total = await world.correct_budget(
            tokens=set_tokens, micros=micros(set_dollars), day=of, by=who(), reason=reason
        )
        if of is None:
            return await _show(world, as_json)
        if as_json:
            out_json({"day": of, "settled": asdict(total)})
        else:
            out(f"{of}: {_number(total.tokens)} tokens, {cost(total.micros)}")
        return Exit.OK

    return in_world(settings, correct)


async def _show(world: Archive, as_json: bool) -> Exit:
    left = await world.budget()
    if as_json:
        out_json(asdict(left))
    else:
        out(_line(left))
    return Exit.OK


def _line(left: DayBudget) -> str:
    spent, most = left.spent, left.limit
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

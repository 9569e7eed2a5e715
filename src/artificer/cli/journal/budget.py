"""``artificer budget``: the spending of a day, and its correction."""

from __future__ import annotations

import click
from msgspec import to_builtins

from artificer.archive import Archive
from artificer.cli.commands.journal import BudgetOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import cost
from artificer.money import micros
from artificer.runtime.limits.day_budget import DayBudget


async def budget(settings: Settings, options: BudgetOptions) -> Exit:
    """Print the spending of today, or correct that of a day."""
    if options.set_tokens is not None or options.set_dollars is not None:
        return await _correct(settings, options)
    if options.day is not None or options.reason:
        raise click.UsageError("--day and --reason need --set-tokens or --set-dollars.")
    async with opened_archive(settings) as archive:
        return await _show(archive, as_json=options.as_json)


async def _correct(settings: Settings, options: BudgetOptions) -> Exit:
    if not options.reason:
        raise click.UsageError("A correction needs a reason: --reason TEXT.")
    day = None if options.day is None else options.day.date().isoformat()
    async with opened_world(settings) as world:
        total = await world.maintenance.correct_budget(
            tokens=options.set_tokens,
            micros=micros(options.set_dollars),
            day=day,
            by=user_name(),
            reason=options.reason,
        )
        if day is None:
            return await _show(world.archive, as_json=options.as_json)
    if options.as_json:
        out_json({"day": day, "settled": to_builtins(total)})
    else:
        out(f"{day}: {_number(total.tokens)} tokens, {cost(total.micros)}")
    return Exit.OK


async def _show(archive: Archive, *, as_json: bool) -> Exit:
    left = await archive.budget()
    if as_json:
        out_json(to_builtins(left))
    else:
        out(_text(left))
    return Exit.OK


def _text(left: DayBudget) -> str:
    spent, limits = left.spent, left.limit
    lines = [f"today    {left.day} (UTC)"]
    if limits.tokens is None and limits.micros is None:
        lines.append("budget   none: set [budget] in artificer.toml")
    for name, limit, settled, reserved, write in (
        ("tokens", limits.tokens, spent.settled.tokens, spent.reserved.tokens, _number),
        ("dollars", limits.micros, spent.settled.micros, spent.reserved.micros, cost),
    ):
        line = f"{write(settled)} spent"
        if reserved:
            line += f", {write(reserved)} reserved"
        if limit is not None:
            line += f", {write(max(0, limit - settled - reserved))} left of {write(limit)}"
        lines.append(f"{name:<8} {line}")
    return "\n".join(lines)


def _number(value: int) -> str:
    return f"{value:,}"

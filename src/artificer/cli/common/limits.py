"""Limits that are given as options."""

from __future__ import annotations

import click

from artificer.money import micros

MAX_TOKENS = click.option(
    "--max-tokens",
    type=click.IntRange(1),
    help="Tokens of one reply. Default: what the model can write, within the budget.",
)


def limits_said(
    turns: int | None = None, tokens: int | None = None, dollars: float | None = None
) -> dict[str, int]:
    """The limits that were given on the command line, by their names."""
    said = {"turns": turns, "max_tokens": tokens, "cost_micros": micros(dollars)}
    return {name: limit for name, limit in said.items() if limit is not None}

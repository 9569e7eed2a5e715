"""The limits that options say."""

from __future__ import annotations

import click

MAX_TOKENS = click.option(
    "--max-tokens",
    type=click.IntRange(1),
    help="Tokens of one reply. Default: what the model can write, within the budget.",
)


def limits_said(
    turns: int | None = None, tokens: int | None = None, dollars: float | None = None
) -> dict[str, int]:
    """The limits that were given on the command line, by their names."""
    micros = None if dollars is None else round(dollars * 1_000_000)
    said = {"turns": turns, "max_tokens": tokens, "cost_micros": micros}
    return {name: limit for name, limit in said.items() if limit is not None}

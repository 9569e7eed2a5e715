"""Settings of the model that are options."""

from __future__ import annotations

from typing import Any, get_args

import click

from artificer.agent import Agent
from artificer.cli.commands.shared import SamplingOptions
from artificer.contracts.model_settings import Effort, ModelSettings
from artificer.values.model import ToolChoice
from artificer.wiring.settings import each_turn


def settings_in(
    agent: Agent, options: SamplingOptions, choices: tuple[ToolChoice, ...] = ()
) -> list[ModelSettings] | None:
    """Return the agent's settings, with those that the command line replaces in every turn.

    None if it replaces none. Raises UsageError.
    """
    named: dict[str, Any] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "reasoning": _reasoning(options.reasoning),
        "tool_choice": choices or None,
    }
    named = {name: value for name, value in named.items() if value is not None}
    if not named:
        return None
    turns = each_turn(agent.settings)
    if choices:
        turns = turns[:1]  # the choices say themselves which turn they are for
    return [turn.replace(**named) for turn in turns]


def _reasoning(word: str | None) -> Any:
    """The effort, or the number of tokens. Raises UsageError."""
    if word is None or word in get_args(Effort):
        return word
    if word.isascii() and word.isdecimal() and int(word) > 0:
        return int(word)
    raise click.UsageError(f"--reasoning is {word!r}: use low, medium, high or a number of tokens.")

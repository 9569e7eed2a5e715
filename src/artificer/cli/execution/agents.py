"""Agents that a program defines and the command line runs: ``--agent module:name``."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import click

from artificer.agent import Agent


def load_agent(place: str | None, tools: tuple[Path, ...] = ()) -> Agent:
    """Return the agent at ``module:name`` with more tools, or one with these tools only.

    The module is looked up as `python -m` does: in the working directory first. Raises UsageError.
    """
    if place is None:
        return Agent(tools=tools)
    module_name, colon, name = place.partition(":")
    if not (colon and module_name and name):
        raise click.UsageError(f"--agent {place}: write it as module:name.")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise click.UsageError(
            f"--agent {place}: there is no module {error.name!r} here or among the installed"
            " packages."
        ) from error
    if not hasattr(module, name):
        agents = ", ".join(n for n, value in vars(module).items() if isinstance(value, Agent))
        known = f" Its agents: {agents}." if agents else ""
        raise click.UsageError(f"--agent {place}: {module_name} has no {name!r}.{known}")
    agent = getattr(module, name)
    if not isinstance(agent, Agent):
        raise click.UsageError(f"--agent {place}: this is {type(agent).__name__}, not Agent.")
    return replace(agent, tools=(*agent.tools, *tools))

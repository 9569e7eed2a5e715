"""OpenAI Agents SDK with Artificer's guarded tools, and no session."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any

from agents import Agent, RunConfig, Runner
from outside import Outside

from adapters import guarded as guard
from adapters.openai_agents import Scripted
from artificer.adapters.openai_agents import guarded_tools

NAME = "OpenAI Agents, guarded"
WARM = True
CHILDREN = False
PROBES = True
NOT = {"stale owner": "a guard takes no key over from a living process"}


def version() -> str:
    return version_of("openai-agents")


async def clerk(outside: Outside, guarded: Any) -> None:
    agent = Agent(name="clerk", model=Scripted(outside), tools=guarded_tools(guarded))
    await Runner.run(agent, "Go.", run_config=RunConfig(tracing_disabled=True))


async def drive(outside: Outside) -> None:
    await guard.drive(outside, clerk)

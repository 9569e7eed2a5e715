"""A project, a world, and a build of the one in the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engineer import Engineer, Inspect, Job

from artificer.agent import Agent
from artificer.artifacts.plan import Plan
from artificer.builds.brief import Brief
from artificer.builds.facts import BuildOptions, Decided
from artificer.builds.jobs import AskConsent, AskDecision
from artificer.config import Config
from artificer.core.policy import Policy
from artificer.core.spec import Limits
from artificer.providers.scripted import ScriptedProvider
from artificer.runs import Run
from artificer.world import World


class Approving:
    """Approves every plan, and leaves changes to signals (build.builder.Decider)."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    async def consent(self, run: str, wish: AskConsent, diff: str) -> None:
        return None

    async def decide(self, run: str, plan: Plan, wish: AskDecision) -> Decided:
        self.plans.append(plan)
        return Decided(key=wish.key, digest=wish.digest, decision="approve", by="ada")


@dataclass
class Site:
    """``model`` answers every run of the build."""

    world: World
    project: Path
    model: ScriptedProvider

    async def build(
        self,
        prompt: str = "Make it.",
        *,
        validation: str | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        **options: Any,
    ) -> Run:
        options = {"decider": Approving(), "options": BuildOptions(size="small"), **options}
        return await self.world.build(
            Brief(prompt, validation) if validation else prompt,
            Agent(model=self.model, limits=limits, policy=policy, kind="chat"),
            project=self.project,
            run_id="b",
            **options,
        )

    async def resume(self, **options: Any) -> Run:
        given = {"decider": Approving(), **options}
        return await self.world.resume("b", Agent(model=self.model, kind="chat"), **given)

    async def children(self) -> list[str]:
        return [run for run in await self.world.archive.runs() if run != "b"]


@asynccontextmanager
async def site(
    folder: Path, project: Path, job: Job, inspect: Inspect | None = None, **settings: Any
) -> AsyncIterator[Site]:
    """A world in a folder; opened again, it is the same."""
    config = Config(home=folder / "home", project="p", durability="process", **settings)
    async with World.open(config) as world:
        yield Site(world, project, ScriptedProvider(Engineer(job, inspect)))

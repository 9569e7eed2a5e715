"""A build with a real model, however small: its plan is valid, or the failure is told as one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from git_project import git, project

from artificer.agent import Agent
from artificer.builds.facts import BuildOptions
from artificer.config import Config, PriceConfig
from artificer.core.spec import Limits
from artificer.providers.local_fetch import model_path
from artificer.world import World
from needs import require

MODEL = model_path(Path(os.environ.get("ARTIFICER_HOME", "~/.artificer")).expanduser())


@pytest.mark.real_model
@pytest.mark.one_of("the embedded model decides")
@pytest.mark.req("build-owed", "build-drive")
async def test_a_small_model_s_plan_is_valid_or_its_failure_is_honest(tmp_path: Path) -> None:
    require("xllamacpp")
    require("the embedded model", MODEL.exists())
    home = project(tmp_path / "p")
    # The budget ends it after some three replies: prose, a plan that is refused, one that is cut.
    price = {"local/smollm2": PriceConfig(input=0, output=1)}
    config = Config(
        home=tmp_path / "home",
        project="p",
        durability="process",
        local_model=MODEL,
        prices=price,
    )
    async with World.open(config) as world:
        run = await world.build(
            "A function that adds two numbers.",
            Agent(
                model="local/smollm2",
                limits=Limits(max_tokens=110, cost_micros=300),
                kind="chat",
            ),
            project=home,
            options=BuildOptions(size="small", attempts=1),
            run_id="b",
        )
        build = run.state.build
        assert build is not None
        if run.status == "waiting":
            assert build.proposal is not None and 1 <= len(build.proposal.specs) <= 10
        else:
            assert run.status == "stalled" and "stalled" in run.text.lower(), run.text
            assert "there is no plan" in run.text or "budget" in run.text, run.text
        (child,) = [each for each in await world.archive.runs() if each != run.id]
        assert (await world.get(child)).state.turn >= 2, "the model was really asked"
        for each in await world.archive.runs():
            assert (await world.archive.replay(each)).identical
    assert git(home, "status", "--porcelain") == ""

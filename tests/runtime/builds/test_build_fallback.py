"""Builds with a list of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engineer import Engineer
from git_project import project
from parts import ONE, PROJECT
from site_of_builds import Site

from artificer.builds.facts import BuildOptions
from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider
from artificer.values.model import ModelFailure
from artificer.world import World


@pytest.mark.req("fallback-requests")
async def test_each_run_of_a_build_falls_back_by_itself(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    config = Config(home=tmp_path / "home", project="p", durability="process")
    busy = ScriptedProvider(lambda _: ModelFailure(code="overloaded", message="No."), name="busy")
    async with World.open(config) as world:
        models: Any = [busy, ScriptedProvider(Engineer(ONE))]
        place = Site(world, home, models)
        run = await place.build(options=BuildOptions(size="small"))
        assert run.status == "completed", run.text
        for name in await world.archive.runs():
            child = await world.get(name)
            expected = () if name == "b" else ("busy/busy",)
            assert child.models[:-1] == expected

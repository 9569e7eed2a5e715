"""A build, and each of its runs, can begin again elsewhere with the same facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engineer import Work
from git_project import files_of, git, project
from parts import CHECK, ONE, PROJECT, part
from site_of_builds import site

from artificer.agent import Agent
from artificer.core.events import RunForked
from artificer.core.record import EventLine
from artificer.core.signals import Cancel
from artificer.errors import OperatorError
from artificer.runtime.fork import ForkChanges
from artificer.values.model import ModelFailure

pytestmark = pytest.mark.req("build-forks")

LEFT = replace(ONE, specs={"left": ([], {**part("left"), "three": Work(check=CHECK)})})
"""Its last phase has nothing to do, so a judge is asked."""


async def test_a_build_goes_another_way_from_any_record_and_leaves_the_first_alone(
    tmp_path: Path,
) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, LEFT) as place:
        first = await place.build()
        assert first.status == "completed" and first.state.build is not None
        children = set(await place.children())
        lines = (await place.world.archive.history("b")).lines
        half = len(lines) // 2
        fork = await place.world.fork(
            "b", Agent(model=place.model, kind="chat"), ForkChanges(at=half), new_id="f"
        )
        assert fork.status == "completed" and fork.state.build is not None, fork.text
        builds = place.world.config.project_folder / "builds"
        made = files_of(builds / "f/repo.git", fork.state.build.integration)
        assert made == files_of(builds / "b/repo.git", first.state.build.integration)
        again = [run for run in await place.world.archive.runs() if run.startswith("f.")]
        assert 0 < len(again) < len(children), "what was done before the fork is not done again"
        for run in ("f", *again):
            assert (await place.world.archive.replay(run, model=place.model)).identical
        forked = [
            e.event
            for e in (await place.world.archive.history("f")).lines
            if isinstance(e, EventLine)
        ]
        assert [e.origin.run for e in forked if isinstance(e, RunForked)] == ["b"]
        assert (await place.world.archive.history("b")).lines == lines
        promotion = await place.world.builds.promote("f", into="main")
        assert promotion.status == "promoted"
        with pytest.raises(OperatorError, match="has no conversation"):
            await place.world.fork(
                "b", Agent(model=place.model, kind="chat"), ForkChanges(steer="Be quick.")
            )


async def test_a_run_of_a_build_is_tried_again_in_a_worktree_of_its_own(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)
    async with site(tmp_path, home, LEFT) as place:
        assert (await place.build()).status == "completed"
        before = set(await place.world.archive.runs())
        for kind in ("plan", "spec", "phase", "code", "judge"):
            child = next(run for run in await place.children() if f".{kind}-" in run)
            fork = await place.world.fork(
                child, Agent(model=place.model, kind="chat"), ForkChanges(at=1), new_id=f"f-{kind}"
            )
            assert fork.status == "completed" and fork.state.artifacts, kind
            assert (await place.world.archive.replay(fork.id, model=place.model)).identical
        assert set(await place.world.archive.runs()) - before == {
            f"f-{kind}" for kind in ("plan", "spec", "phase", "code", "judge")
        }
        worktree = place.world.config.project_folder / "builds/f-code/work/fork"
        assert (worktree / "left/one.txt").read_text() == "left\n"
        code = next(run for run in await place.children() if ".code-" in run)
        with pytest.raises(OperatorError, match="from its start"):
            await place.world.fork(code, Agent(model=place.model, kind="chat"), ForkChanges(at=9))
        finished = await place.world.resume(code, Agent(model=place.model, kind="chat"))
        assert finished.status == "completed", "a finished run is handed over again"
    assert git(home, "status", "--porcelain") == ""


async def test_the_end_of_a_fork_is_not_the_end_of_its_origin(tmp_path: Path) -> None:
    home = project(tmp_path / "p", PROJECT)

    def unreachable(kind: str, body: object) -> ModelFailure | None:
        down = ModelFailure(code="unavailable", message="Nobody is there.", attempts=1)
        return down if kind == "code" else None

    async with site(tmp_path, home, LEFT, unreachable) as place:
        await place.build()
        (code,) = [run for run in await place.children() if ".code-" in run]
        await place.world.fork("b", agent=Agent(model=place.model, kind="chat"), new_id="f")
        await place.world.send("f", Cancel(reason="Enough."))
        ended = await place.world.resume("f", Agent(model=place.model, kind="chat"))
        assert ended.status == "cancelled"
        (other,) = [run for run in await place.world.archive.runs() if run.startswith("f.code-")]
        assert (await place.world.get(other)).status == "cancelled"
        assert (await place.world.get(code)).status == "stalled"

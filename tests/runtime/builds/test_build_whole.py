"""Builds from a request to a person's branch: real git, real runs, real tests of what was made.

Only the model is scripted: it plays a competent engineer with the tools that it is offered.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from git_project import content, files_of, git, project, write
from jobs import BRIEF, GREETER, SHOUT, TODO
from site_of_builds import site

from artificer.builds.facts import BuildOptions
from artificer.builds.jobs import AskDecision
from artificer.core.signals import Decide
from artificer.errors import NotFoundError, OperatorError


def python(folder: Path, *words: str) -> str:
    """Run what was built as its user would."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.req("build-drive", "build-files", "build-nothing")
async def test_from_an_empty_repository_to_a_program_with_tests(tmp_path: Path) -> None:
    home = project(tmp_path / "p", {".gitignore": "__pycache__/\ntodo.json\n"})
    before = git(home, "rev-parse", "HEAD")
    async with site(tmp_path, home, TODO) as place:
        run = await place.build("A to-do list for the command line")
        assert run.status == "completed", run.text
        assert run.state.build is not None and run.state.build.merged == ("store", "cli")
        assert git(home, "rev-parse", "HEAD") == before, "the person's branch is as it was"
        assert git(home, "status", "--porcelain") == ""
        for child in [run.id, *await place.children()]:
            assert (await place.world.archive.replay(child, model=place.model)).identical
        promotion = await place.world.builds.promote(run.id, into="main")
    assert promotion.status == "promoted"
    assert git(home, "rev-parse", "HEAD") == promotion.commit
    assert python(home, "-m", "todo", "buy", "milk") == ""
    assert python(home, "-m", "todo") == "buy milk\n"
    python(home, "-m", "unittest", "-q")
    titles = git(home, "log", "--format=%s").splitlines()
    assert titles[:5] == ["Readme", "Main", "Parser", "Save", "Load"]


@pytest.mark.req("build-drive")
async def test_an_option_for_a_program_that_is_there(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    write(home, {"notes.txt": "mine, and not committed\n"})
    async with site(tmp_path, home, SHOUT) as place:
        run = await place.build("Add an option --shout")
        assert run.status == "completed", run.text
        promotion = await place.world.builds.promote(run.id, into="main")
    assert promotion.status == "promoted"
    assert python(home, "greet.py", "Ada") == "Hello, Ada!\n"
    assert python(home, "greet.py", "Ada", "--shout") == "HELLO, ADA!\n"
    python(home, "-m", "unittest", "-q")
    assert git(home, "status", "--porcelain") == "?? notes.txt"


@pytest.mark.req("build-drive", "build-approval")
async def test_a_build_waits_for_a_person_and_goes_on_when_there_is_one(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    async with site(tmp_path, home, SHOUT) as place:
        run = await place.build(decider=None)
        assert run.status == "waiting" and run.state.build is not None
        with pytest.raises(OperatorError, match="not completed"):
            await place.world.builds.promote(run.id)
        (wish,) = [x for x in run.state.build.open if isinstance(x, AskDecision)]
        approval = Decide(plan=wish.digest, decision="approve", by="ada")
        await place.world.send("b", approval)
        await place.world.send("b", approval)
    async with site(tmp_path, home, SHOUT) as place:  # another process
        run = await place.resume(decider=None)
        assert run.status == "completed", run.text
        kinds = [child.split(".")[1].split("-")[0] for child in await place.children()]
        assert kinds.count("plan") == 1 and kinds.count("spec") == 1, "approved twice, done once"


@pytest.mark.req("build-drive")
async def test_a_small_job_is_one_code_run(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    seen: list[str] = []

    def inspect(kind: str, body: object) -> None:
        seen.append(kind)

    async with site(tmp_path, home, BRIEF, inspect) as place:
        run = await place.build(
            "Greet in capitals",
            options=BuildOptions(size="brief"),
            validation="python -m unittest -q",
        )
        assert run.status == "completed", run.text
        assert set(seen) == {"code"} and len(await place.children()) == 1
        repository = place.world.config.project_folder / "builds/b/repo.git"
        commit = run.state.build.integration if run.state.build else ""
    assert "upper" in content(repository, commit, "greet.py")
    assert "test_shout.py" in files_of(repository, commit)


@pytest.mark.req("build-drive")
async def test_a_build_whose_repository_is_gone_does_not_begin_another_one(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    async with site(tmp_path, home, SHOUT) as place:
        assert (await place.build(decider=None)).status == "waiting"
        shutil.rmtree(place.world.config.project_folder / "builds")
        git(home, "commit", "-qm", "Since then", "--allow-empty")
        with pytest.raises(NotFoundError, match="was imported, or its folder was deleted"):
            await place.resume()
        assert not (place.world.config.project_folder / "builds").exists()

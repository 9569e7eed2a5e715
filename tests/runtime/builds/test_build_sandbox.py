"""The programs of a build in a sandbox: held where there is one, and what that hides is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from engineer import UNITTEST
from git_project import project, write
from jobs import BRIEF, GREETER
from site_of_builds import site
from test_build_attacks import built

from artificer.backends.sandbox.grants import Grants
from artificer.backends.sandbox.sandbox import findings
from artificer.backends.sandbox.settings import SandboxConfig
from artificer.builds.facts import BuildOptions
from artificer.config import Config
from artificer.errors import ConfigError
from artificer.runtime.builds.detect import detect
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.toolchains import hidden, toolchains
from artificer.runtime.builds.validate import Validator
from artificer.wiring.build_sandbox import grants_of_build, held_by
from needs import needs, reason

pytestmark = pytest.mark.req("build-sandbox")

WORKING = [finding.name for finding in findings() if finding.works]
needs_one = pytest.mark.skipif(not WORKING, reason=reason("a sandbox"))
needs_bubblewrap = pytest.mark.skipif("bubblewrap" not in WORKING, reason=reason("bubblewrap"))


@needs_one
async def test_a_build_uses_the_sandbox_that_there_is_and_records_it(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    async with site(tmp_path, home, BRIEF) as place:
        run = await place.build("Shout", options=BuildOptions(size="brief"), validation=UNITTEST)
        assert run.status == "completed", run.text
        assert built(run).specs[0].phases[0].sandbox in WORKING
        assert "without a sandbox" not in run.text
        assert "held by" in held_by(place.world.config)


async def test_without_one_it_says_so(tmp_path: Path) -> None:
    home = project(tmp_path / "p", GREETER)
    off = SandboxConfig(mode="off")
    async with site(tmp_path, home, BRIEF, sandbox=off) as place:
        run = await place.build("Shout", options=BuildOptions(size="brief"), validation=UNITTEST)
        assert run.status == "completed", run.text
        assert built(run).specs[0].phases[0].sandbox == "none"
        assert "Validated without a sandbox: brief/brief" in run.text
        assert "no sandbox" in held_by(place.world.config)
        (node,) = await place.world.archive.tree("b")
        assert "no sandbox" in node.checked


def test_what_is_configured_holds_for_builds_too() -> None:
    assert grants_of_build(Config()).mode == "auto"
    for mode in ("off", "auto", "required"):
        sandbox = SandboxConfig.from_json({"mode": mode})
        assert grants_of_build(Config(sandbox=sandbox)).mode == mode


PACKAGE = '{"scripts": {"test": "node --test"}, "dependencies": {"is-even": "1"}}'
NODE_TEST = """\
const test = require("node:test");
const assert = require("node:assert");
test("it is found", () => assert.ok(require("is-even")(2)));
"""


@needs_bubblewrap
@needs("npm")
async def test_installed_packages_are_found(tmp_path: Path) -> None:
    files = {"package.json": PACKAGE, "even.test.js": NODE_TEST, ".gitignore": "node_modules/\n"}
    home = project(tmp_path / "p", files)
    write(home, {"node_modules/is-even/index.js": "module.exports = n => n % 2 === 0;\n"})
    repository = await BuildRepository.open(tmp_path / "build", home)
    found = detect(home)
    repository.provide(found.links)
    worktree = await repository.worktrees.open("w", repository.base)
    validator = Validator(found, seconds=60, grants=Grants(mode="required"))
    done = await validator.one("npm test", worktree.path)
    assert done.passed, done.report
    assert done.sandbox == "bubblewrap" and done.counted and done.counted.executed == 1


@needs_bubblewrap
async def test_a_program_that_the_sandbox_hides_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    write(tools, {"deno": "#!/bin/sh\nexit 0\n"})
    (tools / "deno").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "p"
    write(folder, {"Makefile": "test:\n\tdeno test\n"})
    held = Validator(detect(folder), seconds=60, grants=Grants(mode="required"))
    with pytest.raises(ConfigError, match="deno is not visible in the sandbox") as failure:
        await held.one("make test", folder)
    assert failure.value.hint and str(tools) in failure.value.hint
    granted = Grants(mode="required", readable=(tools,))
    assert (await Validator(detect(folder), grants=granted).one("make test", folder)).passed


@needs_one
async def test_a_check_has_a_folder_for_temporary_files(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    write(folder, {"Makefile": "test:\n\tmktemp $$TMPDIR/x.XXXXXX && echo ok 1\n"})
    held = Validator(detect(folder), seconds=60, grants=Grants(mode="auto"))
    done = await held.one("make test", folder)
    assert done.passed and done.sandbox in WORKING, done.report


@needs_one
async def test_a_program_that_is_a_link_in_a_folder_of_its_own_can_be_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the Python of a virtual environment is."""
    tools, make = tmp_path / "venv/bin", shutil.which("make")
    tools.mkdir(parents=True)
    assert make is not None
    (tools / "make").symlink_to(make)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "p"
    write(folder, {"Makefile": "test:\n\techo ok 1\n"})
    held = Validator(detect(folder), grants=Grants(mode="auto", readable=(tmp_path / "venv",)))
    done = await held.one("make test", folder)
    assert done.passed and done.sandbox in WORKING, done.report


def test_version_managers_are_found_by_path_and_nothing_else(tmp_path: Path) -> None:
    env = {"PATH": f"{tmp_path}/.pyenv/shims:/usr/bin:{tmp_path}/.cargo/bin:{tmp_path}/.ssh/bin"}
    found = [str(path.relative_to(tmp_path)) for path in toolchains(env, tmp_path)]
    assert found == [".pyenv", ".cargo/bin", ".rustup"]


@pytest.mark.parametrize(
    "said",
    [
        "make: python: No such file or directory",
        "sh: 1: python: not found",
        "bash: line 1: python: command not found",
        "/usr/bin/env: 'python': No such file or directory",
    ],
)
def test_what_programs_say_of_a_missing_one_is_understood(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"python": ""})
    (tmp_path / "python").chmod(0o755)
    env = {"PATH": str(tmp_path)}
    assert hidden(said, env, []) == [("python", tmp_path / "python")]
    assert hidden(said, env, [tmp_path]) == [], "it can be seen: something else is wrong"
    assert hidden("python said: not found: page", env, []) == []


FULL = """
import asyncio, sys
from pathlib import Path
from artificer.errors import OperatorError
from artificer.runtime.builds.detect import Project
from artificer.runtime.builds.validate import Validator

async def validated():
    project = Project(bins=(str(Path(sys.executable).parent),))
    return await Validator(project, seconds=60).one("python -m unittest -q", folder)

folder = Path(sys.argv[1])
filler = folder / "filler"
(folder / "test_it.py").write_text(
    "import pathlib, unittest\\n"
    "class Test(unittest.TestCase):\\n"
    "    def test(self): pathlib.Path('out').write_text('a' * 500_000)\\n"
)
try:
    with filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)): pass
except OSError:
    pass
try:
    print((asyncio.run(validated())).report)
except OperatorError as error:
    print(error.message, error.hint)
filler.unlink()
print(asyncio.run(validated()).passed)
"""


@needs_bubblewrap
@pytest.mark.req("build-full-disk")
def test_a_check_on_a_full_disk_is_no_failed_attempt(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    disk = ("bwrap", "--dev-bind", "/", "/", "--size", str(4 << 20), "--tmpfs", str(small))
    done = subprocess.run(
        [*disk, sys.executable, "-c", FULL, str(small)], capture_output=True, text=True
    )
    full = f"The disk of {small} is full. Free some space, and resume the build."
    assert done.stdout.splitlines() == [full, "True"], done.stderr

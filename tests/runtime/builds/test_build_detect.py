"""Detection of a project's commands, and which of them are offered and allowed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from git_project import write

from artificer.artifacts.command_line import is_allowed
from artificer.backends.command.executor import CommandExecutor
from artificer.ports import Call
from artificer.runtime.builds.detect import MAX_BYTES, MAX_COMMANDS, detect
from needs import needs

pytestmark = pytest.mark.req("build-detect")

PROJECTS: dict[str, tuple[dict[str, str], tuple[str, ...], dict[str, str]]] = {
    "python with pytest": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n", "tests/test_a.py": ""},
        ("python",),
        {"run_test": "python -m pytest", "run_lint": "ruff check ."},
    ),
    "python with unittest": (
        {"setup.py": "", "tests/test_a.py": ""},
        ("python",),
        {"run_test": "python -m unittest"},
    ),
    "node": (
        {"package.json": json.dumps({"scripts": {"test": "jest", "build": "tsc", "dev": "x"}})},
        ("node",),
        {"run_test": "npm run test", "run_build": "npm run build"},
    ),
    "node with pnpm": (
        {"package.json": '{"scripts": {"lint": "eslint ."}}', "pnpm-lock.yaml": ""},
        ("node",),
        {"run_lint": "pnpm run lint"},
    ),
    "rust": (
        {"Cargo.toml": "[package]\n"},
        ("rust",),
        {"run_build": "cargo build", "run_test": "cargo test", "run_lint": "cargo clippy"},
    ),
    "go": (
        {"go.mod": "module x\n"},
        ("go",),
        {
            "run_build": "go build ./...",
            "run_test": "go test ./...",
            "run_lint": "go vet ./...",
        },
    ),
    "make first": (
        {
            "Makefile": "VERSION := 1\n.PHONY: test\ntest: build\n\tpytest\nbuild:\n\ttrue\n"
            "deploy:\n\trm -rf /\ncheck := 1\n",
            "Cargo.toml": "",
        },
        ("make", "rust"),
        {
            "run_test": "make test",
            "run_build": "make build",
            "run_build_build": "cargo build",
            "run_test_test": "cargo test",
            "run_lint": "cargo clippy",
        },
    ),
    "nothing": ({"README.md": "x"}, (), {}),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_each_kind_of_project_is_known_by_its_files(tmp_path: Path, name: str) -> None:
    files, languages, commands = PROJECTS[name]
    write(tmp_path, files)
    found = detect(tmp_path)
    assert found.languages == languages
    assert {command.name: command.line for command in found.commands} == commands
    for line in commands.values():
        assert is_allowed(line.split(), found.allowed)
    assert not is_allowed(["make-believe"], found.allowed)
    assert not is_allowed(["rm", "-rf", "."], found.allowed)


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": "{"},
        {"package.json": "[1]"},
        {"package.json": '{"scripts": ["test"]}'},
        {"package.json": '{"scripts": {"test": 3}}'},
        {"package.json": "[" * 100_000},
        {"Makefile": "test:" + "x" * MAX_BYTES},
        {"Makefile": "\n".join(f"target{n}:" for n in range(9_999))},
    ],
)
def test_what_cannot_be_read_is_not_there(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path, files)
    (tmp_path / "pyproject.toml").mkdir()
    found = detect(tmp_path)
    assert found.commands == () and len(found.commands) <= MAX_COMMANDS


def test_a_projects_own_programs_and_modules_come_first(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "", ".venv/bin/python": "", "package.json": "{}"})
    write(tmp_path, {"node_modules/.bin/jest": ""})
    found = detect(tmp_path)
    env = found.environment({"PATH": "/usr/bin"}, Path("/w"))
    assert env["PATH"] == f"{tmp_path}/.venv/bin:{tmp_path}/node_modules/.bin:/usr/bin"
    assert env["PYTHONPATH"] == "/w/src:/w" and env["VIRTUAL_ENV"] == f"{tmp_path}/.venv"
    assert found.links == (("node_modules", f"{tmp_path}/node_modules"),)


@pytest.mark.parametrize("folder", ["plain", "with {braces} and spaces"])
async def test_the_commands_are_tools_that_run_in_the_worktree(tmp_path: Path, folder: str) -> None:
    home, worktree = tmp_path / folder, tmp_path / folder / "work" / "w"
    write(home, {"setup.py": "", "tests/test_a.py": ""})
    (home / ".venv" / "bin").mkdir(parents=True)
    (home / ".venv" / "bin" / "python").symlink_to(sys.executable)
    test = "import unittest, mod\nclass T(unittest.TestCase):\n    def test(self): print(mod.X)\n"
    write(worktree, {"src/mod.py": "X = 'of the worktree'\n", "test_a.py": test})
    (tool,) = detect(home).tools(worktree)
    executor = CommandExecutor([tool], cwd=worktree)
    assert executor.tools[0].name == "run_test" and executor.tools[0].effect == "idempotent"
    call = Call(run="r", id="c", definition=executor.tools[0], arguments={}, key="k")
    receipt = await executor.execute(call)
    assert receipt.status == "ok" and "of the worktree" in receipt.content
    write(worktree, {"test_b.py": "import not_there\n"})
    narrow = Call(
        run="r", id="d", definition=executor.tools[0], arguments={"paths": ["test_a.py"]}, key="k"
    )
    assert (await executor.execute(narrow)).status == "ok"
    assert (await executor.execute(call)).status == "error"


@needs("node")
async def test_a_nodes_modules_are_found_above_the_worktree_and_not_in_it(tmp_path: Path) -> None:
    from artificer.runtime.builds.validate import Validator

    home, folder = tmp_path / "project", tmp_path / "build"
    script = {"scripts": {"test": "node check.mjs"}}
    write(home, {"package.json": json.dumps(script)})
    write(home, {"node_modules/dep/package.json": '{"name": "dep", "exports": "./i.js"}'})
    write(home, {"node_modules/dep/i.js": "module.exports = 1"})
    worktree = folder / "work" / "w"
    write(worktree, {"package.json": json.dumps(script), "check.mjs": "import d from 'dep'"})
    found = detect(home)
    for name, target in found.links:
        (folder / name).symlink_to(target)
    validation = await Validator(found).one("npm run test", worktree)
    assert validation.passed, validation.report
    assert not (worktree / "node_modules").exists()

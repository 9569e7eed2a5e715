"""The programs that build and test a project: found in its files, offered as tools, allowed.

People and models write these files. They are read within limits, and a file that cannot be read is
ignored. Nothing in them is run here.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from artificer.backends.sandbox.grants import Grants
from artificer.errors import InvalidValueError, ManifestError, TamperedError
from artificer.manifests.model import ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.runtime.builds.toolchains import variables as toolchain_variables
from artificer.system.home import user_home
from artificer.system.regular_file import read_regular
from artificer.values.base import Value

log = logging.getLogger("artificer.runtime.builds")

Purpose = Literal["build", "test", "lint"]
MAX_BYTES = 1024 * 1024
MAX_COMMANDS = 12

ALWAYS_ALLOWED = (
    "python -m pytest",
    "python -m unittest",
    "pytest",
    "npm test",
    "npm run",
    "node --test",
    "cargo test",
    "cargo build",
    "cargo check",
    "go test",
    "go build",
    "go vet",
    "make",
)
"""How a validation command may begin in any project: a plan may bring a language with it."""

_SCRIPTS: dict[str, Purpose] = {
    "build": "build",
    "test": "test",
    "lint": "lint",
    "typecheck": "lint",
}
_TARGETS: dict[str, Purpose] = {
    "build": "build",
    "all": "build",
    "test": "test",
    "check": "test",
    "lint": "lint",
}
_TARGET = re.compile(r"^([A-Za-z0-9_-]+)\s*:(?!=)", re.MULTILINE)
_LOCKS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"))


class ProjectCommand(Value):
    """A command of the project, by the name of the tool that it is offered as."""

    name: str
    purpose: Purpose
    argv: tuple[str, ...]

    @property
    def line(self) -> str:
        """As a validation command may say it."""
        return " ".join(self.argv)


class Project(Value):
    """The tools found in a project. ``bins`` come before PATH, ``variables`` may name the worktree.

    ``links`` are folders that have to be found above a worktree, not in it: there, nothing that
    works in the worktree writes through them by accident.
    """

    languages: tuple[str, ...] = ()
    commands: tuple[ProjectCommand, ...] = ()
    bins: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        """How a validation command may begin."""
        return tuple(dict.fromkeys((*(c.line for c in self.commands), *ALWAYS_ALLOWED)))

    def beneath(self, tree: Project) -> Project:
        """Return the tools of a tree of this project, with the programs installed for this one."""
        return tree.replace(
            bins=self.bins,
            variables=tuple(dict([*tree.variables, *self.variables]).items()),
            links=self.links,
        )

    def with_validation(self, argv: tuple[str, ...]) -> Project:
        """Return this project with a phase's validation command as one of its commands."""
        command = ProjectCommand(name="run_validation", purpose="test", argv=argv)
        return self.replace(commands=(command, *self.commands))

    def granted(self, grants: Grants, worktree: Path) -> Grants:
        """Return the grants of the project's commands: write access to the worktree, read access to
        the programs that the project has installed."""
        installed = [Path(folder).parent for folder in self.bins]
        installed += [Path(target) for _, target in self.links]
        above = worktree.parent.parent  # where programs look for what is linked
        installed += [above / name for name, _ in self.links]
        writable, readable = (*grants.writable, worktree), (*grants.readable, *installed)
        return replace(grants, writable=writable, readable=readable)

    def environment(self, inherited: dict[str, str], worktree: Path) -> dict[str, str]:
        """The environment of a command in a worktree, made of what programs are given anyway."""
        path = os.pathsep.join([*self.bins, inherited.get("PATH", os.defpath)])
        return {**inherited, **self.variables_in(worktree), "PATH": path}

    def variables_in(self, worktree: Path) -> dict[str, str]:
        """The variables of a command in a worktree."""
        here = {name: value.replace("{worktree}", str(worktree)) for name, value in self.variables}
        return {**toolchain_variables(os.environ, user_home()), **here}

    def tools(self, worktree: Path) -> tuple[ManifestFile[Any], ...]:
        """The commands as tools that run in a worktree, by manifests."""
        return tuple(_tools(self, worktree))


@dataclass
class _Found:
    root: Path
    languages: list[str] = field(default_factory=list)
    commands: list[ProjectCommand] = field(default_factory=list)
    bins: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def add(self, purpose: Purpose, *argv: str) -> None:
        names = {command.name for command in self.commands}
        name = f"run_{purpose}"
        if name in names:
            name = f"run_{purpose}_{re.sub('[^a-z0-9]+', '_', argv[-1].lower()).strip('_')}"
        if name not in names and len(self.commands) < MAX_COMMANDS:
            self.commands.append(ProjectCommand(name=name, purpose=purpose, argv=argv))

    def has(self, *names: str) -> bool:
        return any((self.root / name).is_file() for name in names)

    def text(self, name: str) -> str:
        """A file's text, or nothing for one that is not there, too long, or no text."""
        try:
            return (read_regular(self.root / name, MAX_BYTES) or b"").decode()
        except (OSError, UnicodeDecodeError):
            return ""


def detect(root: Path) -> Project:
    """Look at the files in a project's folder. What comes first is what its own makefile says."""
    found = _Found(root)
    for look in _LANGUAGES:
        look(found)
    return Project(
        languages=tuple(found.languages),
        commands=tuple(found.commands),
        bins=tuple(found.bins),
        variables=tuple(found.variables.items()),
        links=tuple(found.links.items()),
    )


def detected(file: Path, root: Path) -> Project:
    """Return the result of the first detection, kept in ``file``: a resumed run needs the same.

    Raises TamperedError when the file is not what was written.
    """
    with suppress(FileNotFoundError):
        try:
            return Project.read(file.read_bytes())
        except InvalidValueError as error:
            raise TamperedError(
                f"{file} cannot be read: it should list the commands found in the project."
            ) from error
    found = detect(root)
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_bytes(found.canonical())
    fresh.replace(file)
    return found


def _make(found: _Found) -> None:
    name = next((n for n in ("GNUmakefile", "makefile", "Makefile") if found.has(n)), None)
    if name is None:
        return
    found.languages.append("make")
    for target in dict.fromkeys(_TARGET.findall(found.text(name))):
        if target in _TARGETS:
            found.add(_TARGETS[target], "make", target)


def _python(found: _Found) -> None:
    if not found.has("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini"):
        return
    found.languages.append("python")
    environment = next((d for d in (".venv", "venv") if (found.root / d / "bin").is_dir()), None)
    if environment is not None:
        found.bins.append(str(found.root / environment / "bin"))
        found.variables["VIRTUAL_ENV"] = str(found.root / environment)
    # A worktree's own modules come before those that are installed in place from the project.
    found.variables["PYTHONPATH"] = "{worktree}/src:{worktree}"
    found.variables["PYTHONDONTWRITEBYTECODE"] = "1"
    settings = found.text("pyproject.toml") + found.text("setup.cfg") + found.text("tox.ini")
    uses_pytest = "pytest" in settings or found.has("pytest.ini", "conftest.py")
    tests = (found.root / "tests").is_dir()
    found.add("test", "python", "-m", "pytest" if uses_pytest or not tests else "unittest")
    for tool, arguments in (("ruff", ("check", ".")), ("mypy", ())):
        if f"[tool.{tool}" in settings:
            found.add("lint", tool, *arguments)


def _node(found: _Found) -> None:
    if not found.has("package.json"):
        return
    found.languages.append("node")
    manager = next((name for lock, name in _LOCKS if found.has(lock)), "npm")
    if (found.root / "node_modules").is_dir():
        found.bins.append(str(found.root / "node_modules" / ".bin"))
        found.links["node_modules"] = str(found.root / "node_modules")
    for script in _scripts(found.text("package.json")):
        if script in _SCRIPTS:
            found.add(_SCRIPTS[script], manager, "run", script)


def _scripts(text: str) -> Iterator[str]:
    try:
        scripts = json.loads(text).get("scripts")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(scripts, dict):
        yield from (name for name, line in scripts.items() if isinstance(line, str))


def _rust(found: _Found) -> None:
    if found.has("Cargo.toml"):
        found.languages.append("rust")
        found.add("build", "cargo", "build")
        found.add("test", "cargo", "test")
        found.add("lint", "cargo", "clippy")


def _go(found: _Found) -> None:
    if found.has("go.mod"):
        found.languages.append("go")
        found.add("build", "go", "build", "./...")
        found.add("test", "go", "test", "./...")
        found.add("lint", "go", "vet", "./...")


_LANGUAGES: tuple[Callable[[_Found], None], ...] = (_make, _python, _node, _rust, _go)

_MANIFEST = """\
[tool]
name = "{name}"
version = "1.0.0"
binary = "env"
description = {description}
timeout_seconds = 600
risk_tier = "medium"
effect = "idempotent"

{paths}
[command]
exec = {exec}

[output]
format = "text"
"""


_PATHS = """\
[args.paths]
type = "path"
list = true
max_items = 40
description = "Only these files or folders, where the command takes any."
"""


def _tools(project: Project, worktree: Path) -> Iterator[ManifestFile[Any]]:
    for command in project.commands:
        try:
            yield _tool(command, project, worktree)
        except ManifestError as error:  # a project's files and a model's commands are anybody's
            log.warning("%s is not offered: %s", command.line, error.message)


def _tool(command: ProjectCommand, project: Project, worktree: Path) -> ManifestFile[Any]:
    """The command by ``env``, which sets what a manifest cannot: variables of this worktree."""
    path = os.pathsep.join(project.bins)
    variables = project.variables_in(worktree)
    if path:
        variables["PATH"] = os.pathsep.join([path, os.environ.get("PATH", os.defpath)])
    words = ["env", *(f"{name}={value}" for name, value in variables.items()), *command.argv]
    takes_paths = not command.argv[-1].startswith("-")  # what follows may be that option's own
    exec_words = [_quoted(_literal(word)) for word in words] + ['"{paths}"'] * takes_paths
    text = _MANIFEST.format(
        name=command.name,
        description=_quoted(f"Run the project's {command.purpose} command: {command.line}"),
        paths=_PATHS if takes_paths else "",
        exec=f"[{', '.join(exec_words)}]",
    )
    file = f"{command.name}.clad.toml"
    return ManifestFile(parse_manifest(text, file), str(worktree / file))


def _literal(word: str) -> str:
    """A word of a command in which no brace is a placeholder."""
    return word.replace("{", "{{").replace("}", "}}")


def _quoted(text: str) -> str:
    """A TOML string, which JSON's strings are but for characters written as two."""
    return json.dumps(text, ensure_ascii=False)

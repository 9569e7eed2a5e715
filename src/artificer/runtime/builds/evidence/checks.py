"""Whether a change rewrote the check that it is held against.

What a check is made of: the files of the tool that it names, and the programs that these run.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence

from artificer.artifacts.command_line import split_command
from artificer.runtime.builds.evidence.tests import FileChange, is_test

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""Make reads only the first of these that there is."""

_TOOLS = {
    "pytest": ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"),
    "unittest": (),
    "make": (*_MAKEFILES, "*.mk"),
    "npm": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
    "bun": ("package.json", "bunfig.toml"),
    "node": (),
    "cargo": ("Cargo.toml", "build.rs"),
    "go": (),
    "tox": ("tox.ini", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
    "mypy": ("mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"),
}
_RUNNER_FILES = re.compile(
    r"(?:^|/)(?:(?:jest|vitest|vite|karma|playwright|cypress|ava|babel)\.config\.\w+|\.mocharc\.\w+"
    r"|pytest\.ini|\.?tox\.ini|noxfile\.py|phpunit\.xml(?:\.dist)?|\.rspec|\.coveragerc)$"
)
"""Settings of test runners, whichever command begins them."""

_TABLES = {"pytest", "tox", "nox", "hatch", "pdm", "poe", "taskipy", "coverage", "ruff", "mypy"}
_RUN_SCRIPTS = {"npm", "pnpm", "yarn", "bun"}
"""Tools that run the scripts of package.json."""

_SCRIPTS = ("scripts", "jest", "mocha", "ava", "vitest", "nyc", "c8", "config")
_INTERPRETERS = {"sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "deno"}


def rewritten(
    line: str, changes: Sequence[FileChange], base: Callable[[str], str | None]
) -> list[str]:
    """How changes touch what a check is made of, in clauses. ``base`` reads a file as it was."""
    argv = split_command(line)
    if isinstance(argv, str):
        return []
    tools = _tools_of(argv)
    programs = _programs(argv, base)
    found: list[str] = []
    for change in changes:
        names = {change.path, change.old_path} - {""}
        if names & programs:
            found.append(f"{change.path} is a program that the check runs")
        elif any(_shadows(name, argv) for name in names):
            found.append(f"{change.path} stands in the way of the program of that name")
        elif _is_new(change, tools) and _is_read_instead(change.path, tools, base):
            found.append(f"{change.path} is read instead of the makefile")
        elif change.before is not None and _is_part(names, tools) and _differs(change):
            found.append(f"{change.path} says what the check does")
    return found


def defines(line: str, change: FileChange) -> bool:
    """Whether a file that was not there before says what a check does."""
    argv = split_command(line)
    if isinstance(argv, str) or not _is_new(change, _tools_of(argv)):
        return False
    fresh = FileChange(change.path, None, change.after)
    return _is_part({change.path}, _tools_of(argv)) and _differs(fresh)


def _is_new(change: FileChange, tools: set[str]) -> bool:
    """Whether a file was no part of what a check is made of, though another may have become it."""
    return change.before is None or bool(change.old_path and not _is_part({change.old_path}, tools))


def _is_read_instead(path: str, tools: set[str], base: Callable[[str], str | None]) -> bool:
    """Whether make reads a new file, and no longer the one that said what the check does."""
    if "make" not in tools or path not in _MAKEFILES:
        return False
    later = _MAKEFILES[_MAKEFILES.index(path) + 1 :]
    return any(base(name) is not None for name in later)


def _tools_of(argv: Sequence[str]) -> set[str]:
    words = {word.rpartition("/")[2] for word in argv[:1]}
    if argv[1:2] and argv[1] == "-m":
        words |= set(argv[2:3])
    return words


def is_looked_at(line: str, path: str) -> bool:
    """Whether what a file says may matter to a check."""
    argv = split_command(line)
    return not isinstance(argv, str) and _is_part({path}, _tools_of(argv))


def _is_part(names: set[str], tools: set[str]) -> bool:
    for name in names:
        last = name.rpartition("/")[2]
        if _RUNNER_FILES.search(name):
            return True
        for tool in tools:
            if any(last == file or _ends(last, file) for file in _TOOLS.get(tool, ())):
                return True
    return False


def _ends(name: str, pattern: str) -> bool:
    return pattern.startswith("*") and name.endswith(pattern[1:])


def _differs(change: FileChange) -> bool:
    """Whether the parts of a file that tests depend on are others than before."""
    read = {"package.json": _scripts, "pyproject.toml": _tables, "Cargo.toml": _targets}.get(
        change.path.rpartition("/")[2]
    )
    if read is None:
        return change.before != change.after
    try:
        return read(change.before or "") != read(change.after or "")
    except (ValueError, AttributeError, TypeError, RecursionError):
        return True  # what cannot be read is taken for the worst


def _scripts(text: str) -> object:
    found = json.loads(text or "{}")
    return {name: found.get(name) for name in _SCRIPTS} if isinstance(found, dict) else found


def _tables(text: str) -> object:
    tools = tomllib.loads(text).get("tool", {})
    return {name: value for name, value in tools.items() if name in _TABLES}


def _targets(text: str) -> object:
    found = tomllib.loads(text)
    lib = found.get("lib", {})
    profile = found.get("profile", {})
    parts = {"test": found.get("test"), "lib": lib.get("test"), "harness": lib.get("harness")}
    return {**parts, "profile": profile.get("test"), "build": found.get("package", {}).get("build")}


def _shadows(path: str, argv: Sequence[str]) -> bool:
    """Whether a file, or a link to a folder, would be imported instead of the runner."""
    bare = path.removeprefix("src/")
    first = bare.partition("/")[0].partition(".")[0]
    own = set(argv[2:3]) if argv[1:2] and argv[1] == "-m" else set()
    imported = bare.endswith((".py", ".so")) or bare == first
    return imported and first in {"pytest", "_pytest", "unittest", *own}


# --- the programs that a check runs ------------------------------------------------------------


def _programs(argv: Sequence[str], base: Callable[[str], str | None]) -> set[str]:
    """Files of the project that are run by a check, or by the recipe that it stands for."""
    found = set(_run_by(list(argv)))
    for line in _recipes(argv, base):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = line.split()
        command: list[str] = []
        for word in [*words, ";"]:
            if word in {"&&", "||", ";", "|"}:
                found |= set(_run_by(command))
                command = []
            else:
                command += [word.rstrip(";")]
    return {path for path in found if not is_test(path)}


def _run_by(command: list[str]) -> Iterator[str]:
    words = [word.lstrip("@-+!") if n == 0 else word for n, word in enumerate(command)]
    while words and ("=" in words[0] or words[0] in {"", "env", "exec", "time"}):
        words = words[1:]
    if not words:
        return
    yield _plain(words[0])
    if words[0].rpartition("/")[2] in _INTERPRETERS:
        yield from map(_plain, [word for word in words[1:] if not word.startswith("-")][:1])


def _plain(word: str) -> str:
    return word.removeprefix("./")


def recipe_files(line: str) -> tuple[str, ...]:
    """The files whose recipes a check may run."""
    argv = split_command(line)
    if isinstance(argv, str):
        return ()
    tools = _tools_of(argv)
    makefiles = _MAKEFILES if "make" in tools else ()
    return (*makefiles, *(("package.json",) if tools & _RUN_SCRIPTS else ()))


def _recipes(argv: Sequence[str], base: Callable[[str], str | None]) -> Iterator[str]:
    tools = _tools_of(argv)
    if "make" in tools:
        for name in _MAKEFILES:
            yield from re.findall(r"^(?:\t|[^\n#]*?:[^\n=]*;)(.*)$", base(name) or "", re.MULTILINE)
    if tools & _RUN_SCRIPTS:
        try:
            scripts = json.loads(base("package.json") or "{}").get("scripts", {})
            yield from (text for text in scripts.values() if isinstance(text, str))
        except (ValueError, AttributeError, TypeError, RecursionError):
            return

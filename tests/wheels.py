"""Install the wheel in clean environments, and run the examples of the README from it.

    python tests/wheels.py [--only 3.12] [--by pip,uv]

For every Python from 3.11 on that is here or that uv can fetch, and for pip and uv: a new
environment, the wheel with its extras for model APIs, ``artificer --version``, ``artificer doctor``
and the pages with examples, against local model APIs. Prints a table and fails if anything did.
Nothing of the repository but those pages is seen by the programs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/guides/library.md", "docs/guides/streaming.md")
EXTRAS = "anthropic,openai"
NEEDED = ("fastapi", "httpx")
"""Of the examples; not of the wheel."""

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


class Failed(Exception):
    """A step of an installation that failed, with its output."""


@dataclass(frozen=True)
class Interpreter:
    """A Python of this machine."""

    version: str
    path: Path


def call(*words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a command and return its output. Raises Failed."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(str(word) for word in words)
        raise Failed(f"{shown}: exit status {done.returncode}\n{done.stdout[-4_000:]}")
    return done.stdout


def build(folder: Path, *options: str) -> Path:
    """Build the wheel into a folder."""
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
    call(*pip, *options, "-w", folder, ROOT)
    (wheel,) = folder.glob("artificer-*.whl")
    return wheel


def interpreters(versions: Sequence[str], uv: Path) -> Iterator[Interpreter]:
    """Yield a Python of each version: the one on the path, one of pyenv, or one that uv has."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for version in versions:
        on_path = shutil.which(f"python{version}")
        found = [*sorted(pyenv.glob(f"{version}.*/bin/python")), *([on_path] if on_path else [])]
        works = next((path for path in map(Path, found) if _is(version, path)), None)
        if works is None:
            fetched = subprocess.run(
                [uv, "python", "install", "--quiet", version], capture_output=True, check=False
            )
            if fetched.returncode:
                print(f"Python {version} is not here, and uv cannot fetch it.", file=sys.stderr)
                continue
            works = Path(call(uv, "python", "find", version).strip())
        yield Interpreter(version, works)


def _is(version: str, path: Path) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        return call(path, "-c", code).strip() == version
    except (Failed, OSError):
        return False


def environment(by: str, python: Path, folder: Path, wheel: Path, uv: Path) -> Path:
    """Make an environment by pip or by uv, install the wheel, and return its Python."""
    wanted = [f"{wheel}[{EXTRAS}]", *NEEDED]
    made = folder / "bin" / "python"
    if by == "uv":
        call(uv, "venv", "--quiet", "--python", python, folder)
        call(uv, "pip", "install", "--quiet", "--python", made, *wanted)
    else:
        call(python, "-m", "venv", folder)
        call(made, "-m", "pip", "install", "--quiet", *wanted)
    return made


def check(python: Path, folder: Path, pages: Sequence[str] = PAGES) -> None:
    """Use what is installed: its version, its doctor, and the examples. Raises Failed."""
    artificer = python.parent / "artificer"
    clean = {
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "ARTIFICER_HOME": str(folder / "home"),
        "ARTIFICER_MODEL": "anthropic/claude-sonnet-5-5",
        "PYTHONWARNINGS": "error",
    }
    version = call(artificer, "--version", cwd=folder, env=clean)
    where = call(python, "-c", "import artificer; print(artificer.__file__)", cwd=folder, env=clean)
    if not Path(where.strip()).is_relative_to(python.parents[1]):
        raise Failed(f"{version.strip()} is imported from {where.strip()}, not from the wheel")
    call(artificer, "doctor", cwd=folder, env=clean)
    for page in pages:
        work = folder / page.replace("/", "-") / "work"  # a page makes programs next to it
        work.mkdir(parents=True)
        call(python, ROOT / "tests" / "docs" / "run_page.py", ROOT / page, cwd=work, env=clean)


def tried(by: str, interpreter: Interpreter, wheel: Path, uv: Path) -> str:
    """Install and check in a clean environment; return what failed, or nothing."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            python = environment(by, interpreter.path, folder / "venv", wheel, uv)
            check(python, folder)
        except Failed as failure:
            return str(failure)
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(VERSIONS), metavar="VERSIONS")
    parser.add_argument("--by", default="pip,uv", metavar="INSTALLERS")
    options = parser.parse_args()
    found = shutil.which(
        "uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if found is None:
        raise SystemExit("uv is missing: python -m pip install uv")
    failed = 0
    print("| Python | by | result |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        wheel = build(Path(temporary))
        for interpreter in interpreters(options.only.split(","), Path(found)):
            for by in options.by.split(","):
                failure = tried(by, interpreter, wheel, Path(found))
                result = "failed" if failure else "works"
                print(f"| {interpreter.version} | {by} | {result} |", flush=True)
                if failure:
                    failed += 1
                    print(f"Python {interpreter.version}, {by}: {failure}", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()

"""A person's project in a real git repository, and a build of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}
AT = 1_700_000_000


def git(folder: Path, *args: str) -> str:
    """Run git as the person does."""
    done = subprocess.run(
        ["git", *args], cwd=folder, env=ENV, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def project(folder: Path, files: dict[str, str] | None = None) -> Path:
    """A repository with one commit on the branch main."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, {"README.md": "# Project\n"} if files is None else files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Begin")
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def files_of(repository: Path, commit: str) -> list[str]:
    return git(repository, "ls-tree", "-r", "--name-only", commit).splitlines()


def content(repository: Path, commit: str, path: str) -> str:
    return git(repository, "show", f"{commit}:{path}")

"""Bringing a build into a person's own repository: on demand, and past nothing uncommitted.

Merging and validating happen in the build's repository. The person's is given finished commits,
and git's own fast-forward, which refuses to touch a file with changes in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from artificer.build.git import Git
from artificer.build.merging import Conflict, merge
from artificer.build.repository import INTEGRATION, BuildRepository
from artificer.build.validate import Validator
from artificer.errors import ConfigError, GitError
from artificer.values.text import clip

_TARGET = "refs/build/target"
_PROMOTED = "refs/build/promoted"
_UNDER_WAY = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


@dataclass(frozen=True)
class Promotion:
    """What came of it. ``branch`` holds ``commit`` in the person's repository in any case."""

    status: Literal["branch", "promoted", "already", "conflict", "invalid", "refused"]
    branch: str
    commit: str
    report: str = ""


async def promote(
    repository: BuildRepository,
    project: Path,
    branch: str,
    *,
    into: str | None = None,
    validator: Validator | None = None,
    commands: Sequence[str] = (),
) -> Promotion:
    """Make ``branch`` in the project's repository, and merge it into the branch ``into``.

    If ``into`` has gone on since the build began, the two are merged first, and ``commands`` have
    to pass on the merged tree. Nothing is changed unless all of it can be.

    Raises:
        ConfigError: a branch has no valid name, or ``into`` is not there.
        GitError: git failed; a branch of that name is there and holds something else.
        NotFoundError: the project is gone.
    """
    theirs = Git(project, trusting=True)
    for name in (branch,) if into is None else (branch, into):
        await _must_be_a_name(theirs, name)
    built = await repository.integration()
    await _give(repository, theirs, INTEGRATION, branch)
    if into is None:
        return Promotion("branch", branch, built)
    before = await theirs.commit_of(f"refs/heads/{into}")
    if before is None:
        raise ConfigError(f"There is no branch {into!r}.", hint="Name one that is there.")
    if await theirs.is_ancestor(built, before):
        return Promotion("already", branch, before)
    await repository.git.run(*_FETCH, str(project), f"+refs/heads/{into}:{_TARGET}")
    merged = await merge(repository.git, before, built, f"Merge {branch}")
    if isinstance(merged, Conflict):
        said = f"Conflicts in {', '.join(merged.paths)}.\n{merged.report}"
        return Promotion("conflict", branch, built, said)
    if merged != built and validator is not None:
        report = await _faults(repository, merged, validator, commands)
        if report:
            return Promotion("invalid", branch, built, report)
    await repository.git.run("update-ref", _PROMOTED, merged)
    if merged != built:
        await theirs.run(*_FETCH, str(repository.folder / "repo.git"), _PROMOTED)
    refusal = await _advance(theirs, into, before, merged)
    if refusal:
        return Promotion("refused", branch, built, refusal)
    return Promotion("promoted", branch, merged)


async def current_branch(project: Path) -> str:
    """The branch that is checked out in a project. Raises ConfigError when none is."""
    answer = await Git(project, trusting=True).ask("symbolic-ref", "--quiet", "--short", "HEAD")
    if answer.exit_code != 0:
        raise ConfigError(
            "No branch is checked out here.",
            hint="Name one: --into BRANCH; --no-merge only makes the build's own.",
        )
    return answer.out.strip()


async def uncommitted(project: Path) -> list[str]:
    """The changed and new files of a project: a build begins from its commit, without them."""
    git = Git(project, trusting=True)
    entries = await git.paths(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"
    )
    return [entry[3:] for entry in entries]


_FETCH = (
    "-c",
    "fetch.fsckObjects=true",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
)
"""Takes commits over, and none that hold what a file system could take for ``.git``."""


async def _give(repository: BuildRepository, theirs: Git, ref: str, branch: str) -> None:
    place = f"refs/heads/{branch}"
    answer = await theirs.ask(*_FETCH, str(repository.folder / "repo.git"), f"{ref}:{place}")
    if answer.exit_code != 0:
        said = clip(" ".join(answer.err.split()), 300) or "it is there, and holds something else"
        raise GitError(
            f"The branch {branch!r} cannot be made: {said}.",
            hint="Name another one with --branch NAME, or remove the one that is there.",
        )


async def _faults(
    repository: BuildRepository, commit: str, validator: Validator, commands: Sequence[str]
) -> str:
    name = f"promote-{commit[:12]}"
    await repository.discard(name)
    worktree = await repository.worktree(name, commit)
    try:
        validation = await validator.all(commands, worktree.path)
    finally:
        await repository.discard(name)
    return "" if validation.passed else validation.report


async def _advance(theirs: Git, branch: str, before: str, after: str) -> str:
    """Move a branch forward, with its files where it is checked out; say why if it cannot be."""
    own = Path(await theirs.run("rev-parse", "--absolute-git-dir"))
    if busy := [name for name in _UNDER_WAY if _is_there(own / name)]:
        return f"Something is under way in this repository ({busy[0]}): finish it first."
    checked_out = (await theirs.ask("symbolic-ref", "--quiet", "HEAD")).out.strip()
    if checked_out == f"refs/heads/{branch}":
        answer = await theirs.ask("merge", "--ff-only", "--no-autostash", "--no-stat", after)
        return "" if answer.exit_code == 0 else answer.err.strip() or answer.out.strip()
    listed = (await theirs.run("worktree", "list", "--porcelain")).splitlines()
    if f"branch refs/heads/{branch}" in listed:
        return f"The branch {branch!r} is checked out in another worktree: promote it there."
    answer = await theirs.ask("update-ref", f"refs/heads/{branch}", after, before)
    return "" if answer.exit_code == 0 else f"The branch {branch!r} has moved meanwhile."


def _is_there(path: Path) -> bool:
    return path.exists()


async def _must_be_a_name(git: Git, branch: str) -> None:
    answer = await git.ask("check-ref-format", f"refs/heads/{branch}")
    if answer.exit_code != 0 or branch.startswith("-"):
        raise ConfigError(f"{branch!r} is no name for a branch.")

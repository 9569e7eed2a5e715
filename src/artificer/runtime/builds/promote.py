"""Bringing a build into a person's own repository: on demand, without touching uncommitted files.

Merging and validating happen in the build's repository. The person's is given finished commits,
and git's own fast-forward, which refuses to touch a file with changes in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from artificer.errors import ConfigError, GitError
from artificer.runtime.builds.git import Git
from artificer.runtime.builds.merging import MergeConflict, merge
from artificer.runtime.builds.perform import TreePerformer
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.validate import Validator
from artificer.values.text import clip, split_lines

_TARGET = "refs/build/target"
_PROMOTED = "refs/build/promoted"
_MEANS_HEAD = ("HEAD", "@")
"""Names that git reads as the commit that is checked out; a branch would make them ambiguous."""

_FORWARD = ("--ff-only", "--no-squash", "--no-autostash", "--no-stat")
"""Options of a merge, which a person's branch.NAME.mergeOptions could change."""

_UNDER_WAY = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


@dataclass(frozen=True)
class Promotion:
    """The result. ``branch`` holds the build's commit in the person's repository in any case.

    ``commit`` is the end of ``into`` if that has the build's work, else the build's commit.
    ``warning`` says what was found wrong with the build's own repository.
    """

    status: Literal["branch", "promoted", "already", "conflict", "invalid", "refused"]
    branch: str
    commit: str
    report: str = ""
    warning: str = ""


async def promote(
    repository: BuildRepository,
    project: Path,
    built: str,
    branch: str,
    *,
    into: str | None = None,
    validator: Validator | None = None,
    commands: Sequence[str] = (),
) -> Promotion:
    """Make ``branch`` in the project's repository, and merge it into the branch ``into``.

    ``built`` is the commit that the build's journal names. Where the build's own refs point to
    does not count, for any program of the build could have moved them.
    If ``into`` has continued since the build began, the two are merged first, and ``commands`` have
    to pass on the merged tree. If that fails, ``into`` does not change; ``branch`` is made in any
    case.

    Raises:
        ConfigError: a branch has no valid name, or ``into`` is not there.
        GitError: git failed; a branch of that name is there and holds something else; the build's
            repository does not hold ``built``.
        NotFoundError: the project is gone.
    """
    warning = await _restored(repository, built)
    done = await _promote(repository, project, built, branch, into, validator, commands)
    return replace(done, warning=warning)


async def _promote(
    repository: BuildRepository,
    project: Path,
    built: str,
    branch: str,
    into: str | None,
    validator: Validator | None,
    commands: Sequence[str],
) -> Promotion:
    theirs = Git(project, trusting=True)
    for name in (branch,) if into is None else (branch, into):
        await _require_branch_name(theirs, name)
    await _give(repository, theirs, built, branch)
    if into is None:
        return Promotion("branch", branch, built)
    before = await theirs.commit_of(f"refs/heads/{into}")
    if before is None:
        raise ConfigError(f"The branch {into!r} does not exist.", hint="Name an existing branch.")
    if await theirs.is_ancestor(built, before):
        return Promotion("already", branch, before)
    await repository.git.run(*_FETCH, str(project), f"+refs/heads/{into}:{_TARGET}")
    merged = await merge(repository.git, before, built, f"Merge {branch}")
    if isinstance(merged, MergeConflict):
        reason = f"Conflicts in {', '.join(merged.paths)}.\n{merged.report}"
        return Promotion("conflict", branch, built, reason)
    if merged != built and validator is not None:
        name = f"promote-{merged[:12]}"
        tree = TreePerformer(repository, validator)
        report = await tree.faults(name, merged, commands, before)
        if report:
            return Promotion("invalid", branch, built, report)
    if merged != built:
        await _bring(repository, theirs, merged)
    refusal = await _advance(theirs, into, before, merged)
    if refusal:
        return Promotion("refused", branch, built, refusal)
    return Promotion("promoted", branch, merged)


async def holds(project: Path, commit: str) -> bool:
    """Whether a branch or tag of a project has a commit in its history; False if it is gone."""
    if not _is_there(project):
        return False
    git = Git(project, trusting=True)
    if await git.commit_of(commit) is None:
        return False
    found = await git.ask(
        "for-each-ref", "--count=1", f"--contains={commit}", "refs/heads", "refs/tags"
    )
    return found.exit_code == 0 and bool(found.out.strip())


async def current_branch(project: Path) -> str:
    """The branch that is checked out in a project. Raises ConfigError when none is."""
    answer = await Git(project, trusting=True).ask("symbolic-ref", "--quiet", "--short", "HEAD")
    if answer.exit_code != 0:
        raise ConfigError(
            "No branch is checked out here.",
            hint="Name one: --into BRANCH; --no-merge only creates the build's own branch.",
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


async def _restored(repository: BuildRepository, built: str) -> str:
    """Reset the integration branch to the recorded commit; report if it differed."""
    found = await repository.integration()
    if found == built:
        return ""
    await repository.move_integration(built)
    return (
        f"The build's integration branch pointed to {found}, which no record names."
        f" It was put back to {built}, the commit that was validated."
    )


async def _bring(repository: BuildRepository, theirs: Git, commit: str) -> None:
    """Fetch a commit, by its name."""
    await repository.git.run("update-ref", _PROMOTED, commit)
    await theirs.run(*_FETCH, str(repository.git_dir), _PROMOTED)
    if await theirs.commit_of(commit) is None:
        raise GitError(f"The commit {commit} could not be fetched from {repository.git_dir}.")


async def _give(repository: BuildRepository, theirs: Git, built: str, branch: str) -> None:
    """Create the branch, or move it forward if nobody works in it."""
    await _bring(repository, theirs, built)
    place = f"refs/heads/{branch}"
    before = await theirs.commit_of(place)
    if before == built:
        return
    reason = ""
    if before is not None and not await theirs.is_ancestor(before, built):
        reason = "it is there, and holds something else"
    elif f"branch {place}" in await _checked_out(theirs):
        reason = "it is checked out"
    else:
        answer = await theirs.ask("update-ref", place, built, before or "0" * len(built))
        if answer.exit_code != 0:
            reason = clip(" ".join(answer.err.split()), 300) or "git refused"
    if reason:
        raise GitError(
            f"The branch {branch!r} cannot be created: {reason}.",
            hint="Name another one with --branch NAME, or remove the existing one.",
        )


async def _checked_out(theirs: Git) -> list[str]:
    return split_lines(await theirs.run("worktree", "list", "--porcelain"))


async def _advance(theirs: Git, branch: str, before: str, after: str) -> str:
    """Move a branch forward, with its files where it is checked out; say why if it cannot be."""
    own = Path(await theirs.run("rev-parse", "--absolute-git-dir"))
    if busy := [name for name in _UNDER_WAY if _is_there(own / name)]:
        return f"Something is under way in this repository ({busy[0]}): finish it first."
    checked_out = (await theirs.ask("symbolic-ref", "--quiet", "HEAD")).out.strip()
    if checked_out == f"refs/heads/{branch}":
        answer = await theirs.ask("merge", *_FORWARD, after)
        return "" if answer.exit_code == 0 else answer.err.strip() or answer.out.strip()
    if f"branch refs/heads/{branch}" in await _checked_out(theirs):
        return f"The branch {branch!r} is checked out in another worktree: promote it there."
    answer = await theirs.ask("update-ref", f"refs/heads/{branch}", after, before)
    return "" if answer.exit_code == 0 else f"The branch {branch!r} has moved meanwhile."


def _is_there(path: Path) -> bool:
    return path.exists()


async def _require_branch_name(git: Git, branch: str) -> None:
    answer = await git.ask("check-ref-format", f"refs/heads/{branch}")
    if answer.exit_code != 0 or branch.startswith("-") or branch in _MEANS_HEAD:
        raise ConfigError(
            f"{branch!r} is not a valid branch name.",
            hint="Choose a name that git accepts: git check-ref-format --branch NAME",
        )

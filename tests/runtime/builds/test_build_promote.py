"""Promoting a build into a person's repository, with real git."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from git_project import AT, git, project, write

from artificer.errors import ConfigError, GitError
from artificer.runtime.builds.detect import Project
from artificer.runtime.builds.promote import promote, uncommitted
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.validate import Validator

pytestmark = pytest.mark.req("build-promote")

VALIDATOR = Validator(Project(bins=(str(Path(sys.executable).parent),)), seconds=60)
COMMANDS = ("python -m unittest -q",)


async def built(tmp_path: Path, files: dict[str, str]) -> tuple[BuildRepository, Path]:
    """A build that has come to these files, on top of README.md and a.py."""
    home = project(tmp_path / "project", {"README.md": "# P\n", "a.py": "1\n"})
    repository = await BuildRepository.open(tmp_path / "build", home)
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, files)
    made = await repository.worktrees.commit(worktree, list(files), "Build", AT)
    await repository.move_integration(made.commit)
    return repository, home


async def test_without_a_target_only_a_branch_is_made(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    before = git(home, "rev-parse", "main")
    made = await promote(repository, home, await repository.integration(), "artificer/b1")
    assert made.status == "branch"
    assert git(home, "rev-parse", "artificer/b1") == made.commit == await repository.integration()
    assert git(home, "rev-parse", "main") == before and not (home / "new.py").exists()
    assert (
        await promote(repository, home, await repository.integration(), "artificer/b1")
    ).status == "branch", "done again"


async def test_the_branch_that_is_checked_out_goes_forward_with_its_files(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    write(home, {"README.md": "# Mine\n", "notes.txt": "mine\n"})
    git(home, "add", "notes.txt")
    made = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="main"
    )
    assert made.status == "promoted"
    assert (home / "new.py").read_text() == "1\n"
    assert (home / "README.md").read_text() == "# Mine\n"
    assert git(home, "status", "--porcelain").splitlines() == ["M README.md", "A  notes.txt"]
    again = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="main"
    )
    assert again.status == "already"


@pytest.mark.parametrize("staged", [False, True])
async def test_a_file_with_changes_in_it_is_never_touched(tmp_path: Path, staged: bool) -> None:
    repository, home = await built(tmp_path, {"a.py": "2\n", "b.py": "2\n"})
    write(home, {"a.py": "mine\n"})
    if staged:
        git(home, "add", "a.py")
    before = git(home, "rev-parse", "main")
    made = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="main"
    )
    assert made.status == "refused" and "a.py" in made.report
    assert (home / "a.py").read_text() == "mine\n" and not (home / "b.py").exists()
    assert git(home, "rev-parse", "main") == before


async def test_a_new_file_that_is_in_the_way_is_never_touched(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "2\n"})
    write(home, {"new.py": "mine\n"})
    made = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="main"
    )
    assert made.status == "refused" and "new.py" in made.report
    assert (home / "new.py").read_text() == "mine\n"


async def test_a_branch_that_went_on_is_merged_and_the_merged_tree_validated(
    tmp_path: Path,
) -> None:
    test = "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        "
    repository, home = await built(tmp_path, {"test_new.py": test + "import a\n"})
    write(home, {"c.py": "3\n"})
    git(home, "add", "-A")
    git(home, "commit", "-qm", "Meanwhile")
    made = await promote(
        repository,
        home,
        await repository.integration(),
        "artificer/b1",
        into="main",
        validator=VALIDATOR,
        commands=COMMANDS,
    )
    assert made.status == "promoted"
    assert git(home, "log", "--format=%s", "-1", "main") == "Merge artificer/b1"
    assert (home / "c.py").exists() and (home / "test_new.py").exists()


async def test_a_merged_tree_that_fails_is_not_promoted(tmp_path: Path) -> None:
    test = "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        "
    repository, home = await built(tmp_path, {"test_new.py": test + "import a\n"})
    git(home, "rm", "-q", "a.py")
    git(home, "commit", "-qm", "Meanwhile")
    before = git(home, "rev-parse", "main")
    made = await promote(
        repository,
        home,
        await repository.integration(),
        "artificer/b1",
        into="main",
        validator=VALIDATOR,
        commands=COMMANDS,
    )
    assert made.status == "invalid" and "No module named 'a'" in made.report
    assert git(home, "rev-parse", "main") == before and not (home / "test_new.py").exists()


async def test_a_conflict_is_reported_and_changes_nothing_but_the_builds_branch(
    tmp_path: Path,
) -> None:
    repository, home = await built(tmp_path, {"a.py": "2\n"})
    write(home, {"a.py": "3\n"})
    git(home, "commit", "-qam", "Meanwhile")
    before = git(home, "rev-parse", "main")
    made = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="main"
    )
    assert made.status == "conflict" and "a.py" in made.report
    assert git(home, "rev-parse", "main") == before
    assert git(home, "rev-parse", "artificer/b1") == made.commit
    assert git(home, "status", "--porcelain") == ""


async def test_another_branch_moves_without_the_files(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    git(home, "checkout", "-qb", "work")
    made = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="main"
    )
    assert made.status == "promoted"
    assert git(home, "rev-parse", "main") == made.commit
    assert not (home / "new.py").exists() and git(home, "status", "--porcelain") == ""


async def test_a_branch_in_another_worktree_is_left_alone(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    git(home, "branch", "side")
    git(home, "worktree", "add", "-q", str(tmp_path / "side"), "side")
    made = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="side"
    )
    assert made.status == "refused" and "another worktree" in made.report


async def test_nothing_is_promoted_into_the_middle_of_something(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    (home / ".git" / "rebase-merge").mkdir()
    made = await promote(
        repository, home, await repository.integration(), "artificer/b1", into="main"
    )
    assert made.status == "refused" and "under way" in made.report


async def test_the_persons_hooks_are_not_run(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    for name in ("post-merge", "reference-transaction", "pre-merge-commit", "post-checkout"):
        hook = home / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
        hook.chmod(0o755)
    assert (
        await promote(repository, home, await repository.integration(), "artificer/b1", into="main")
    ).status == "promoted"
    assert not (tmp_path / "sprung").exists()


async def test_a_branch_whose_merges_are_squashed_goes_forward_all_the_same(
    tmp_path: Path,
) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    git(home, "config", "branch.main.mergeOptions", "--squash")
    built_at = await repository.integration()
    done = await promote(repository, home, built_at, "artificer/b1", into="main")
    assert done.status == "promoted"
    assert git(home, "rev-parse", "main") == built_at
    assert git(home, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "@{-1}", "", "HEAD", "@"])
async def test_what_is_no_name_for_a_branch_is_refused(tmp_path: Path, name: str) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    with pytest.raises(ConfigError):
        await promote(repository, home, await repository.integration(), name)
    with pytest.raises(ConfigError):
        await promote(
            repository, home, await repository.integration(), "artificer/b1", into="nowhere"
        )


async def test_a_branch_of_that_name_that_holds_something_else_is_kept(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    git(home, "checkout", "-qb", "taken")
    git(home, "commit", "-q", "--allow-empty", "-m", "Mine")
    git(home, "checkout", "-q", "main")
    before = git(home, "rev-parse", "taken")
    with pytest.raises(GitError, match=r"taken.*holds something else"):
        await promote(repository, home, await repository.integration(), "taken")
    assert git(home, "rev-parse", "taken") == before


async def test_what_is_not_committed_can_be_told(tmp_path: Path) -> None:
    _, home = await built(tmp_path, {"new.py": "1\n"})
    write(home, {"a.py": "mine\n", "d/e f.txt": "x"})
    assert await uncommitted(home) == ["a.py", "d/e f.txt"]


@pytest.mark.req("build-record")
@pytest.mark.parametrize("into", [None, "main"])
async def test_a_ref_that_a_program_moved_is_not_what_is_promoted(
    tmp_path: Path, into: str | None
) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    right = await repository.integration()
    worktree = await repository.worktrees.open("evil", right)
    write(worktree.path, {"evil.py": "1\n"})
    evil = await repository.worktrees.commit(worktree, ["evil.py"], "Evil", AT)
    git(repository.git_dir, "update-ref", "refs/build/integration", evil.commit)
    made = await promote(repository, home, right, "artificer/b1", into=into)
    assert made.commit == right == git(home, "rev-parse", "artificer/b1")
    assert evil.commit in made.warning and right in made.warning
    assert "evil.py" not in git(home, "ls-tree", "-r", "--name-only", "artificer/b1")
    again = await promote(repository, home, right, "artificer/b1", into=into)
    assert again.warning == "", "it was put back"


@pytest.mark.req("build-record")
async def test_a_commit_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    repository, home = await built(tmp_path, {"new.py": "1\n"})
    with pytest.raises(GitError):
        await promote(repository, home, "1" * 40, "artificer/b1", into="main")
    assert git(home, "branch", "--list", "artificer/b1") == ""

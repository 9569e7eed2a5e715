"""Worktrees, commits and merges of a build, with real git."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from git_project import AT, content, files_of, git, project, write

from artificer.builds.jobs import SpecTip
from artificer.errors import ConfigError, GitError, NotFoundError, TamperedError
from artificer.runtime.builds.merging import MergeConflict, fold, merge
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.scope import MAX_FILE
from artificer.runtime.builds.worktrees import CommitResult, Worktree
from rights import LOSING, needs_two_users


async def opened(tmp_path: Path, files: dict[str, str] | None = None) -> BuildRepository:
    return await BuildRepository.open(tmp_path / "build", project(tmp_path / "project", files))


async def committed(
    repository: BuildRepository, name: str, base: str, files: dict[str, str]
) -> CommitResult:
    worktree = await repository.worktrees.open(name, base)
    write(worktree.path, files)
    return await repository.worktrees.commit(worktree, list(files), name, AT)


def bare(repository: BuildRepository) -> Path:
    return repository.folder / "repo.git"


@pytest.mark.req("build-worktrees")
async def test_a_worktree_holds_the_files_of_a_commit_and_is_found_again(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a.txt": "1\n", "src/b.py": "2\n"})
    worktree = await repository.worktrees.open("code-a-1", repository.base)
    assert (worktree.path / "a.txt").read_text() == "1\n"
    assert (worktree.path / "src/b.py").is_file()
    write(worktree.path, {"new.txt": "half done"})
    again = await BuildRepository.open(tmp_path / "build", tmp_path / "project")
    found = await again.worktrees.open("code-a-1", repository.base)
    assert found == worktree and (found.path / "new.txt").read_text() == "half done"
    other = await again.worktrees.open("code-a-2", repository.base)
    assert not (other.path / "new.txt").exists()


@pytest.mark.req("build-worktrees")
async def test_the_persons_repository_is_not_touched(tmp_path: Path) -> None:
    repository = await opened(tmp_path)
    home = tmp_path / "project"
    write(home, {"README.md": "changed, not committed\n", "mine.txt": "x"})
    before = {p: p.read_bytes() for p in sorted(home.rglob("*")) if p.is_file()}
    made = await committed(repository, "w1", repository.base, {"x.py": "1\n"})
    await repository.move_integration(made.commit)
    assert {p: p.read_bytes() for p in sorted(home.rglob("*")) if p.is_file()} == before
    worktree = await repository.worktrees.open("w2", made.commit)
    assert (worktree.path / "README.md").read_text() == "# Project\n"
    assert not (worktree.path / "mine.txt").exists()


@pytest.mark.req("build-worktrees")
async def test_a_build_survives_what_becomes_of_the_original(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a.txt": "1\n"})
    shutil.rmtree(tmp_path / "project")
    worktree = await repository.worktrees.open("w", repository.base)
    assert (worktree.path / "a.txt").read_text() == "1\n"


@pytest.mark.req("build-worktrees")
async def test_programs_find_a_repository_in_a_worktree_that_is_not_ours(tmp_path: Path) -> None:
    home = project(tmp_path / "project", {"a.txt": "1\n"})
    git(home, "tag", "-a", "v1.2.3", "-m", "v1.2.3")
    repository = await BuildRepository.open(tmp_path / "build", home)
    worktree = await repository.worktrees.open("w", repository.base)
    assert git(worktree.path, "ls-files") == "a.txt"
    assert git(worktree.path, "describe") == "v1.2.3"
    assert git(worktree.path, "status", "--porcelain") == ""
    write(worktree.path, {"a.txt": "2\n"})
    git(worktree.path, "commit", "-qam", "Their own business")
    git(worktree.path, "update-ref", "refs/build/integration", "HEAD")
    made = await repository.worktrees.commit(worktree, ["a.txt"], "Ours", AT)
    assert git(bare(repository), "log", "--format=%s", made.commit).splitlines() == [
        "Ours",
        "Begin",
    ]
    assert await repository.integration() == repository.base


@pytest.mark.req("build-worktrees")
@pytest.mark.parametrize("name", ["", "../x", "a/b", "A", "-a", "a" * 121])
async def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    repository = await opened(tmp_path)
    with pytest.raises(GitError):
        await repository.worktrees.open(name, repository.base)


@pytest.mark.req("build-worktrees")
async def test_what_is_no_repository_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotFoundError, match="not in a git repository") as none:
        await BuildRepository.open(tmp_path / "b1", tmp_path / "plain")
    assert "git init" in str(none.value.hint)
    git(tmp_path / "plain", "init", "-q")
    write(tmp_path / "plain", {"HEAD^{commit}": "No commit.\n"})
    with pytest.raises(NotFoundError, match="no commit"):
        await BuildRepository.open(tmp_path / "b2", tmp_path / "plain")
    home = project(tmp_path / "project", {"part/a.txt": "1"})
    with pytest.raises(ConfigError, match="part of the repository"):
        await BuildRepository.open(tmp_path / "b3", home / "part")


@pytest.mark.req("build-scope")
async def test_only_the_scope_is_committed_and_the_rest_is_reported(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a.py": "1\n", "b.py": "1\n", "old.py": "1\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, {"a.py": "2\n", "b.py": "2\n", "tests/test_a.py": "3\n", ".venv/x": "4"})
    (worktree.path / "old.py").unlink()
    made = await repository.worktrees.commit(worktree, ["a.py", "tests/", "old.py"], "Title", AT)
    assert made.files.inside == ("a.py", "old.py", "tests/test_a.py")
    assert made.files.outside == ("b.py",), "what a tool left is not even named"
    assert files_of(bare(repository), made.commit) == ["a.py", "b.py", "tests/test_a.py"]
    assert content(bare(repository), made.commit, "b.py") == "1"


@pytest.mark.req("build-scope")
async def test_files_and_folders_take_each_others_places(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a/one.txt": "1\n", "b": "1\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    (worktree.path / "a/one.txt").unlink()
    (worktree.path / "a").rmdir()
    (worktree.path / "b").unlink()
    write(worktree.path, {"a": "2\n", "b/two.txt": "2\n"})
    made = await repository.worktrees.commit(worktree, ["a", "b"], "Title", AT)
    assert made.files.refused == () and made.files.outside == ()
    assert files_of(bare(repository), made.commit) == ["a", "b/two.txt"]


@pytest.mark.req("build-scope")
async def test_a_commit_made_again_is_the_same_commit(tmp_path: Path) -> None:
    repository = await opened(tmp_path)
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, {"a.py": "1\n"})
    first = await repository.worktrees.commit(worktree, ["a.py"], "Title", AT)
    assert await repository.worktrees.commit(worktree, ["a.py"], "Title", AT) == first
    author = git(bare(repository), "show", "-s", "--format=%an %at", first.commit)
    assert author == f"Artificer {AT}"


@pytest.mark.req("build-scope")
async def test_nothing_in_scope_makes_no_commit(tmp_path: Path) -> None:
    repository = await opened(tmp_path)
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, {"other.py": "1\n"})
    made = await repository.worktrees.commit(worktree, ["a.py"], "Title", AT)
    assert made.unchanged and made.commit == repository.base
    assert made.files.outside == ("other.py",)


@pytest.mark.req("build-scope")
async def test_a_file_that_the_scope_names_is_committed_even_if_git_is_told_to_ignore_it(
    tmp_path: Path,
) -> None:
    repository = await opened(tmp_path, {".gitignore": "*.log\nbuild/\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, {"app.log": "1\n", "other.log": "2\n", "build/x": "3\n"})
    made = await repository.worktrees.commit(worktree, ["app.log"], "Title", AT)
    assert made.files.inside == ("app.log",) and made.files.outside == ()


@pytest.mark.req("build-scope")
async def test_a_path_is_never_a_pattern_or_an_option(tmp_path: Path) -> None:
    names = {"[ab].py": "1\n", "a.py": "1\n", ":(top)x": "1\n", "sub/:!y": "1\n"}
    repository = await opened(tmp_path)
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, names)
    made = await repository.worktrees.commit(worktree, ["[ab].py", "sub/"], "-m --amend", AT)
    assert made.files.inside == ("[ab].py",)
    assert [path for path, _ in made.files.refused] == ["sub/:!y"]
    assert files_of(bare(repository), made.commit) == ["README.md", "[ab].py"]
    assert git(bare(repository), "show", "-s", "--format=%s", made.commit) == "-m --amend"


@pytest.mark.req("build-hostile")
async def test_what_is_no_plain_file_of_the_project_is_refused_with_a_reason(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret").write_text("s")
    repository = await opened(tmp_path)
    worktree = await repository.worktrees.open("w", repository.base)
    root = worktree.path
    (root / "s").mkdir()
    (root / "s/out").symlink_to(tmp_path / "secret")
    (root / "s/up").symlink_to("../../../secret")
    (root / "s/git").symlink_to("../.git/config")
    (root / "s/ok").symlink_to("../README.md")
    (root / "s/dir").symlink_to("..")
    (root / "s/same").symlink_to(".")
    (root / "s/around").symlink_to("same/same/../../../secret")
    (root / "s/hooks").symlink_to("same/dir/.GIT/hooks")
    os.mkfifo(root / "s/pipe")
    write(root, {"s/.gitmodules": "[submodule]\n", "s/nested/x": "1\n"})
    git(root / "s/nested", "init", "-q")
    git(root / "s/nested", "add", "-A")
    git(root / "s/nested", "commit", "-qm", "x")
    with (root / "s/large").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    made = await repository.worktrees.commit(worktree, ["s/"], "Title", AT)
    reasons = dict(made.files.refused)
    assert set(made.files.inside) == {"s/ok", "s/dir", "s/same"}
    for name in ("s/out", "s/up", "s/git", "s/around", "s/hooks"):
        assert "leads out" in reasons[name]
    assert ".git" in reasons["s/.gitmodules"]
    assert "bytes" in reasons["s/large"]
    assert "repository of its own" in reasons["s/nested/"]
    assert files_of(bare(repository), made.commit) == ["README.md", "s/dir", "s/ok", "s/same"]


@pytest.mark.req("build-hostile")
async def test_a_folder_that_git_takes_for_a_repository_is_not_committed(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"old/HEAD": "ref: refs/heads/main\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    root = worktree.path
    ours = f"[core]\n\tfsmonitor = touch {tmp_path / 'ran'}; false\n"
    write(root, {"v/HEAD": "ref: refs/heads/main\n", "v/config": ours})
    write(root, {"v/objects/x": "", "v/refs/x": "", "head/x": "a folder of that name\n"})
    (root / "w").mkdir()
    (root / "w/Head").symlink_to("../v/config")
    (root / "old/HEAD").unlink()
    made = await repository.worktrees.commit(worktree, ["."], "Title", AT)
    assert [path for path, _ in made.files.refused] == ["v/HEAD", "w/Head"]
    assert all("repository" in reason for _, reason in made.files.refused)
    kept = ["head/x", "v/config", "v/objects/x", "v/refs/x"]
    assert files_of(bare(repository), made.commit) == kept


@pytest.mark.req("build-hostile")
async def test_a_file_behind_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.py").write_text("theirs\n")
    repository = await opened(tmp_path, {"d/a.py": "1\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    shutil.rmtree(worktree.path / "d")
    (worktree.path / "d").symlink_to(tmp_path / "outside")
    made = await repository.worktrees.commit(worktree, ["d/a.py"], "Title", AT)
    assert "theirs" not in content(bare(repository), made.commit, "d/a.py")


def trap(folder: Path) -> str:
    """A program that leaves a mark when it is run."""
    program = folder / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch {folder}/sprung\ncat\n")
    program.chmod(0o755)
    return str(program)


async def every_step(repository: BuildRepository, worktree: Worktree) -> None:
    """Everything that git is asked to do with a worktree's files."""
    await repository.worktrees.changes(worktree)
    made = await repository.worktrees.commit(
        worktree, ["a.txt", ".gitattributes", "b.txt"], "Title", AT
    )
    other = await committed(repository, "other", repository.base, {"a.txt": "other\n"})
    assert isinstance(await merge(repository.git, made.commit, other.commit, "M"), MergeConflict)
    await repository.worktrees.open("again", made.commit)
    await repository.move_integration(made.commit)


@pytest.mark.req("build-hostile")
async def test_nothing_that_a_worktree_says_makes_git_run_a_program(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a.txt": "1\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    program = trap(tmp_path)
    own = worktree.path / ".git"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change"):
        shutil.copy(program, hooks / hook)
    own.joinpath("config").write_text(
        f'[core]\n fsmonitor = "{program}"\n hooksPath = "{hooks}"\n pager = "{program}"\n'
        f' editor = "{program}"\n sshCommand = "{program}"\n worktree = /\n'
        f'[filter "x"]\n clean = "{program}"\n smudge = "{program}"\n required = true\n'
        f'[diff]\n external = "{program}"\n[diff "x"]\n textconv = "{program}"\n'
        f'[merge "x"]\n driver = "{program} %A"\n[alias]\n commit-tree = "!{program}"\n'
        f"[gpg]\n program = {program}\n[commit]\n gpgSign = true\n"
    )
    write(worktree.path, {".gitattributes": "* filter=x diff=x merge=x\n", "a.txt": "2\n"})
    await every_step(repository, worktree)
    assert not (tmp_path / "sprung").exists()
    write(worktree.path, {"a.txt": "3\n"})
    git(worktree.path, "-c", "core.worktree=", "diff", "--ext-diff")
    assert (tmp_path / "sprung").exists(), "the traps work"


@pytest.mark.req("build-hostile")
async def test_a_worktree_whose_git_leads_elsewhere_is_still_ours(tmp_path: Path) -> None:
    """The twin of the test above: the same traps in a repository that a ``.git`` file names."""
    repository = await opened(tmp_path, {"a.txt": "1\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    evil = project(tmp_path / "evil")
    git(evil, "config", "core.fsmonitor", trap(tmp_path))
    shutil.rmtree(worktree.path / ".git")
    (worktree.path / ".git").write_text(f"gitdir: {evil / '.git'}\n")
    write(worktree.path, {"a.txt": "2\n"})
    await every_step(repository, worktree)
    assert not (tmp_path / "sprung").exists()
    assert git(evil, "log", "--format=%s") == "Begin"
    git(evil, "status")
    assert (tmp_path / "sprung").exists(), "the trap works"


@pytest.mark.req("build-hostile")
async def test_a_socket_and_a_device_name_are_passed_over(tmp_path: Path) -> None:
    repository = await opened(tmp_path)
    worktree = await repository.worktrees.open("w", repository.base)
    listening, before = socket.socket(socket.AF_UNIX), Path.cwd()
    try:
        os.chdir(worktree.path)  # the address of a socket is short
        listening.bind("s.sock")
    finally:
        os.chdir(before)
        listening.close()
    write(worktree.path, {"aux.c": "1\n"})
    made = await repository.worktrees.commit(worktree, ["s.sock", "aux.c"], "Title", AT)
    assert made.unchanged
    assert "device" in dict(made.files.refused)["aux.c"]


@pytest.mark.req("build-merge")
async def test_changes_of_different_files_merge_and_the_same_merge_is_the_same_commit(
    tmp_path: Path,
) -> None:
    repository = await opened(tmp_path)
    base = repository.base
    a = await committed(repository, "a", base, {"a.py": "1\n"})
    b = await committed(repository, "b", base, {"b.py": "2\n"})
    merged = await merge(repository.git, a.commit, b.commit, "Merge b")
    assert isinstance(merged, str)
    assert files_of(bare(repository), merged) == ["README.md", "a.py", "b.py"]
    assert await merge(repository.git, a.commit, b.commit, "Merge b") == merged
    assert await merge(repository.git, merged, a.commit, "x") == merged, "it is in there"
    assert await merge(repository.git, base, a.commit, "x") == a.commit, "it is all of it"


@pytest.mark.req("build-merge")
async def test_a_conflict_is_reported_with_its_files_and_changes_nothing(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"x.py": "1\n", "y.py": "1\n"})
    a = await committed(repository, "a", repository.base, {"x.py": "a\n", "y.py": "a\n"})
    b = await committed(repository, "b", repository.base, {"x.py": "b\n"})
    found = await fold(
        repository.git,
        repository.base,
        [SpecTip(spec="a", commit=a.commit), SpecTip(spec="b", commit=b.commit)],
    )
    assert isinstance(found, MergeConflict)
    assert found.paths == ("x.py",) and found.tip and found.tip.spec == "b"
    assert "CONFLICT (content)" in found.report and "x.py" in found.report
    assert await repository.integration() == repository.base


@pytest.mark.req("build-merge")
async def test_the_integration_branch_stands_where_it_is_put(tmp_path: Path) -> None:
    repository = await opened(tmp_path)
    base = repository.base
    a = await committed(repository, "a", base, {"a.py": "1\n"})
    b = await committed(repository, "b", base, {"b.py": "1\n"})
    for commit in (a.commit, a.commit, b.commit, base):
        await repository.move_integration(commit)
        assert await repository.integration() == commit


@pytest.mark.req("build-cleanup")
async def test_the_locks_of_a_git_that_died_are_no_verdict_and_can_be_removed(
    tmp_path: Path,
) -> None:
    repository = await opened(tmp_path)
    base = repository.base
    a = await committed(repository, "a", base, {"a.py": "1\n"})
    lock = repository.folder / "repo.git/refs/build/integration.lock"
    lock.touch()
    with pytest.raises(GitError, match="integration"):
        await repository.move_integration(a.commit)
    b = await repository.worktrees.open("b", base)
    write(b.path, {"b.py": "1\n"})
    b.index.with_name("b.adding.lock").touch()
    with pytest.raises(GitError, match="lock"):
        await repository.worktrees.commit(b, ["b.py"], "B", AT)
    repository.unlock()
    await repository.move_integration(a.commit)
    assert not (await repository.worktrees.commit(b, ["b.py"], "B", AT)).unchanged


@pytest.mark.req("build-cleanup")
async def test_cleaning_up_keeps_what_is_needed_and_can_be_done_again(tmp_path: Path) -> None:
    repository = await opened(tmp_path)
    kept = await repository.worktrees.open("kept", repository.base)
    write(kept.path, {"half.py": "1\n"})
    made = await committed(repository, "gone", repository.base, {"a.py": "1\n"})
    (repository.folder / "work" / "tmp-half-made").mkdir()
    (repository.folder / "cloning-x" / "repo.git").mkdir(parents=True)
    assert await repository.clean_up({"kept"}) == ["gone", "tmp-half-made"]
    assert await repository.clean_up({"kept"}) == []
    assert (kept.path / "half.py").is_file()
    assert sorted(p.name for p in (repository.folder / "index").iterdir()) == [
        "kept",
        "kept.commit",
    ]
    assert files_of(bare(repository), made.commit) == ["README.md", "a.py"]


@pytest.mark.req("build-cleanup")
async def test_a_worktree_that_a_crash_left_half_made_is_made_anew(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a.txt": "1\n"})
    (repository.folder / "work" / "w").mkdir(parents=True)
    (repository.folder / "index").mkdir()
    (repository.folder / "index" / "w").write_text("garbage")
    (repository.folder / "index" / "w.lock").write_text("")
    worktree = await repository.worktrees.open("w", repository.base)
    assert (worktree.path / "a.txt").read_text() == "1\n"


CLEANS_UP = """
import asyncio, sys
from pathlib import Path
from artificer.errors import GitError
from artificer.runtime.builds.repository import BuildRepository

async def main(folder, project):
    repository = await BuildRepository.open(Path(folder), Path(project))
    print(await repository.clean_up())
    try:
        made = await repository.worktrees.open("w", repository.base)
        print(sorted(path.name for path in made.path.iterdir()))
    except GitError as error:
        print(error.message)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.req("build-cleanup")
@pytest.mark.parametrize(
    "owner",
    [None, pytest.param(65534, marks=needs_two_users)],
    ids=["ours", "another user's"],
)
async def test_a_folder_that_a_program_made_read_only_goes_or_is_named(
    tmp_path: Path, owner: int | None
) -> None:
    """As the cache of Go's modules."""
    repository = await opened(tmp_path)
    worktree = await repository.worktrees.open("w", repository.base)
    cache = worktree.path / "cache"
    write(cache, {"module.go": "x"})
    if owner is not None:
        os.chown(cache, owner, -1)
    cache.chmod(0o555)
    command = [*LOSING, sys.executable, "-c", CLEANS_UP, tmp_path / "build", tmp_path / "project"]
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said, logged = [part.decode() for part in await process.communicate()]
    left = f"{cache / 'module.go'}: Permission denied"
    if owner is None:
        assert said == "['w']\n['.git', 'README.md']\n" and not logged
    else:
        assert said.startswith("[]\nThe worktree w cannot be made again") and left in said
        assert left in logged


@pytest.mark.req("build-cleanup")
async def test_a_clone_that_a_crash_left_half_made_is_made_anew(tmp_path: Path) -> None:
    home = project(tmp_path / "project")
    (tmp_path / "build" / "cloning-x" / "repo.git").mkdir(parents=True)
    repository = await BuildRepository.open(tmp_path / "build", home)
    assert repository.base == git(home, "rev-parse", "HEAD")


ELSEWHERE = (Path("/dev/shm"), Path("/var/tmp"))
"""Of these, one is on another file system than the temporary files."""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system than ``tmp_path``."""
    here = tmp_path.stat().st_dev
    places = [place for place in ELSEWHERE if place.is_dir() and place.stat().st_dev != here]
    if not places:
        pytest.skip("needs a second file system: mount a tmpfs on /dev/shm")
    with tempfile.TemporaryDirectory(dir=places[0]) as folder:
        yield Path(folder)


@pytest.mark.req("build-file-systems")
async def test_a_project_on_another_file_system_is_copied(tmp_path: Path, elsewhere: Path) -> None:
    home = project(tmp_path / "project", {"a.py": "1\n"})
    repository = await BuildRepository.open(elsewhere / "build", home)
    made = await committed(repository, "w", repository.base, {"b.py": "1\n"})
    assert files_of(bare(repository), made.commit) == ["a.py", "b.py"]


HOSTILE = '[core]\n\tfsmonitor = {trap}\n[filter "x"]\n\tsmudge = {trap}\n\tclean = {trap}\n'


@pytest.mark.req("build-record")
async def test_a_configuration_that_a_program_changed_runs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repository = await opened(tmp_path, {"a.txt": "1\n", ".gitattributes": "* filter=x\n"})
    config = bare(repository) / "config"
    ours = config.read_text()
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, {"a.txt": "2\n"})
    config.write_text(ours + HOSTILE.format(trap=trap(tmp_path)))
    (bare(repository) / "info").mkdir(exist_ok=True)
    (bare(repository) / "info/attributes").write_text("* filter=x\n")
    made = await repository.worktrees.commit(worktree, ["a.txt"], "W", AT)
    again = await repository.worktrees.open("again", made.commit)
    assert (again.path / "a.txt").read_text() == "2\n"
    assert config.read_text() == ours and not (bare(repository) / "info/attributes").exists()
    assert not (tmp_path / "sprung").exists() and "restored" in caplog.text


@pytest.mark.req("build-record")
async def test_folders_and_links_in_the_place_of_our_files_do_no_harm(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a.txt": "1\n"})
    config = bare(repository) / "config"
    ours = config.read_text()
    config.unlink()
    write(config, {"x": ""})
    write(bare(repository) / "info/grafts", {"x": ""})
    (bare(repository) / "config.worktree").symlink_to(tmp_path / "elsewhere")
    assert await repository.integration() == repository.base
    assert config.read_text() == ours and not (bare(repository) / "info/grafts").exists()
    theirs = tmp_path / "project/.git/config"
    before = theirs.read_text()
    bare(repository).rename(tmp_path / "moved")
    bare(repository).symlink_to(theirs.parent)
    with pytest.raises(TamperedError, match="link to another repository"):
        await repository.integration()
    assert theirs.read_text() == before


@pytest.mark.req("build-record")
async def test_an_index_that_a_program_wrote_adds_nothing_to_a_commit(tmp_path: Path) -> None:
    repository = await opened(tmp_path, {"a.txt": "1\n"})
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, {"a.txt": "2\n", "evil.txt": "x"})
    env = {"GIT_DIR": str(bare(repository)), "GIT_WORK_TREE": str(worktree.path)}
    hostile = {**os.environ, **env, "GIT_INDEX_FILE": str(worktree.index)}
    await asyncio.to_thread(
        subprocess.run, ["git", "add", "evil.txt"], cwd=worktree.path, env=hostile, check=True
    )
    made = await repository.worktrees.commit(worktree, ["a.txt"], "W", AT)
    assert files_of(bare(repository), made.commit) == ["a.txt"]


LITTER = (
    "pkg/__pycache__/m.cpython-311.pyc", "m.pyc", ".pytest_cache/v/x", ".mypy_cache/x.json",
    "a/.ruff_cache/y", "node_modules/left-pad/index.js", "web/node_modules/x/y.js", ".DS_Store",
    "src/p.egg-info/PKG-INFO", ".venv/bin/python3", "crate/target/debug/x", ".coverage",
    "src/.00112233445566aa.artificer",  # a host tool was killed
)  # fmt: skip


@pytest.mark.req("build-litter")
async def test_what_tools_leave_behind_is_not_committed(tmp_path: Path) -> None:
    files = {"kept/__pycache__/known.txt": "1\n", "crate/Cargo.toml": "", "docs/target/a.md": "1\n"}
    repository = await opened(tmp_path, files)
    worktree = await repository.worktrees.open("w", repository.base)
    write(worktree.path, {**dict.fromkeys(LITTER, "x"), "docs/target/b.md": "x", "m.py": "x"})
    write(worktree.path, {"kept/__pycache__/known.txt": "2\n"})
    made = await repository.worktrees.commit(worktree, ["."], "W", AT)
    expected = ["docs/target/b.md", "kept/__pycache__/known.txt", "m.py"]
    assert list(made.files.inside) == expected
    assert set(files_of(bare(repository), made.commit)) == {*files, "docs/target/b.md", "m.py"}

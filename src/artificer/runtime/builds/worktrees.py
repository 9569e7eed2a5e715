"""The worktrees of a build: folders with the files of a commit, in which runs work.

The index of a worktree is kept outside it, and so is the repository; the ``.git`` inside is a
throw-away for programs that look for one, and nothing of ours reads it.

Every step can be done again: the same name finds the same worktree, the same changes make the same
commit.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from artificer.errors import GitError
from artificer.runtime.builds.git import Git
from artificer.runtime.builds.guard import config_text, object_format
from artificer.runtime.builds.litter import without_litter
from artificer.runtime.builds.merging import message_of
from artificer.runtime.builds.scope import Sorted, present, sort_changes
from artificer.system.removal import in_short, remove_folder

log = logging.getLogger("artificer.runtime.builds")

ATTEMPTS = "refs/build/attempts"
MAX_ARGUMENTS = 200
"""Paths that are given to one git command."""

_SUBMODULE = "160000"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,118}[a-z0-9])?")


@dataclass(frozen=True)
class Worktree:
    """A folder with the files of a commit, and what became of them."""

    name: str
    path: Path
    commit: str
    index: Path


@dataclass(frozen=True)
class CommitResult:
    """The result of committing a worktree's changes. ``unchanged`` means there were none.

    ``changed`` are the differences to the worktree's commit (Git.differences).
    """

    commit: str
    files: Sorted
    unchanged: bool
    changed: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Worktrees:
    """The worktrees in ``folder/work`` of the repository that ``git`` works on."""

    folder: Path
    git: Git

    @property
    def _git_dir(self) -> Path:
        return self.folder / "repo.git"

    async def open(self, name: str, commit: str) -> Worktree:
        """Return the worktree of this name as it was left, or make it with the files of a commit.

        Raises:
            GitError: there is one of that name for another commit, what is left of an earlier one
                cannot be removed, or git failed.
        """
        if not _NAME.fullmatch(name):
            raise GitError(f"{name!r} is not a name of a worktree.")
        made = Worktree(name, self.folder / "work" / name, commit, self._index(name))
        mark = made.index.with_suffix(".commit")
        if made.path.is_dir() and mark.is_file():
            if mark.read_text() != commit:
                raise GitError(f"The worktree {name} is at another commit.")
            return made
        if left := await self._remove(name):
            raise GitError(
                f"The worktree {name} cannot be made again: files of an earlier one could not be "
                f"removed. {in_short(left)}",
                hint="Remove them, or make them removable, and resume the run.",
            )
        await self._check_out(made)
        whole = mark.with_suffix(".writing")
        whole.write_text(commit)
        put(whole, mark)
        return made

    async def _check_out(self, worktree: Worktree) -> None:
        worktree.path.parent.mkdir(parents=True, exist_ok=True)
        worktree.index.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="tmp-", dir=worktree.path.parent))
        git = self._with_files(fresh, worktree.index)
        await git.run("read-tree", "--reset", "-u", worktree.commit)
        self._throw_away_repository(fresh, worktree)
        put(fresh, worktree.path)

    def _throw_away_repository(self, folder: Path, worktree: Worktree) -> None:
        """A ``.git`` for programs that ask git which files there are, or for a description."""
        own = folder / ".git"
        for part in ("objects/info", "refs/heads", "refs/tags"):
            (own / part).mkdir(parents=True)
        config = config_text(object_format(worktree.commit), bare=False)
        (own / "config").write_text(config, encoding="utf-8")
        (own / "HEAD").write_text(f"{worktree.commit}\n")
        (own / "objects/info/alternates").write_text(f"{self._git_dir / 'objects'}\n")
        packed = self._git_dir / "packed-refs"
        tags = [line for line in _lines(packed) if line.partition(" ")[2].startswith("refs/tags/")]
        (own / "packed-refs").write_text("".join(f"{tag}\n" for tag in tags))
        shutil.copyfile(worktree.index, own / "index")

    def _with_files(self, work_tree: Path, index: Path) -> Git:
        env = {
            "GIT_DIR": str(self._git_dir),
            "GIT_WORK_TREE": str(work_tree),
            "GIT_INDEX_FILE": str(index),
        }
        return Git(work_tree, env, guard=self.git.guard)

    def _index(self, name: str) -> Path:
        return self.folder / "index" / name

    async def discard(self, name: str) -> bool:
        """Remove a worktree, or what is left of it, and return whether it is gone.

        Its commits stay. Nobody needs a file that cannot be removed, until a worktree of that
        name is made again.
        """
        left = await self._remove(name)
        if left:
            log.warning("files of the worktree %s could not be removed. %s", name, in_short(left))
        return not left

    async def _remove(self, name: str) -> list[str]:
        """Remove a worktree, and return what is left of it, and why."""
        index = self._index(name)
        for suffix in (".commit", ".writing", ".project"):
            index.with_suffix(suffix).unlink(missing_ok=True)
        left = await asyncio.to_thread(remove_folder, self.folder / "work" / name)
        adding = index.with_suffix(".adding")
        for file in (index, adding, *map(_lock_of, (index, adding))):
            file.unlink(missing_ok=True)
        return left

    async def clean_up(self, keep: Collection[str] = ()) -> list[str]:
        """Remove every worktree but those of these names, and return the names of those removed."""
        work = self.folder / "work"
        names = sorted(path.name for path in work.iterdir()) if work.is_dir() else []
        return [name for name in names if name not in keep and await self.discard(name)]

    async def changes(self, worktree: Worktree, scope: Sequence[str] = ()) -> list[str]:
        """Every path that is not as in the commit, except those that git ignores by a rule and
        those that tools leave behind.

        What a scope names one by one is looked at even if it is ignored. A folder that is its own
        repository ends in a slash.
        """
        git = self._with_files(worktree.path, worktree.index)
        listed = await git.paths(
            *("ls-files", "-z", "-t", "--stage", "--others", "--exclude-standard"),
            *("--modified", "--deleted"),
        )
        others = [entry[2:] for entry in listed if entry.startswith("? ")]
        tracked = [entry.partition("\t") for entry in listed if not entry.startswith("? ")]
        known = {path for _, _, path in tracked}
        changed = [
            path for entry, _, path in tracked if entry[0] in "CR" and entry[2:8] != _SUBMODULE
        ]
        hidden = [p for p in present(worktree.path, scope) if p not in known]
        found = {*changed, *others, *hidden}
        return sorted(without_litter(found, known, lambda p: (worktree.path / p).is_file()))

    async def commit(
        self, worktree: Worktree, scope: Sequence[str], message: str, at: int
    ) -> CommitResult:
        """Commit the changes in scope on top of the worktree's commit, and leave it as it is.

        ``at`` is in seconds. The same changes at the same time make the same commit.
        """
        files = sort_changes(worktree.path, await self.changes(worktree, scope), scope)
        if not files.inside:
            return CommitResult(worktree.commit, files, unchanged=True)
        adding = worktree.index.with_suffix(".adding")
        adding.unlink(missing_ok=True)
        git = self._with_files(worktree.path, adding)
        await git.run("read-tree", worktree.commit)  # programs could have written the other index
        inside = sorted(files.inside, key=lambda path: _is_entry(worktree.path / path))
        for start in range(0, len(inside), MAX_ARGUMENTS):
            some = inside[start : start + MAX_ARGUMENTS]
            await git.run("update-index", "--add", "--remove", "--", *some)
        tree = await git.run("write-tree")
        adding.unlink()
        changed = tuple(await self.git.differences(worktree.commit, tree))
        if not changed:
            return CommitResult(worktree.commit, files, unchanged=True)
        commit = await self.git.run(
            "commit-tree", tree, "-p", worktree.commit, "-m", message_of(message), at=at
        )
        await self.git.run("update-ref", f"{ATTEMPTS}/{worktree.name}", commit)
        return CommitResult(commit, files, unchanged=False, changed=changed)


def _is_entry(path: Path) -> bool:
    """Whether there is what can be added; what is gone is removed before, to make room for it."""
    return path.is_symlink() or path.is_file()


def _lock_of(index: Path) -> Path:
    return Path(f"{index}.lock")


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def put(made: Path, place: Path) -> None:
    """Give what is whole its name: before, there is nothing of that name."""
    made.rename(place)

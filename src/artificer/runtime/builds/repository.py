"""The repository of a build: a person's own is read once, and written only when they promote.

It is a bare clone, in a folder of ours, that shares no file with the original that could change.
A worktree is a folder with a tree's files. Its index is kept outside it, and so is the repository;
the ``.git`` inside is a throw-away for programs that look for one, and nothing of ours reads it.

Every step can be done again: the same name finds the same worktree, the same inputs make the same
commit. Where a branch stands is for people to see; what counts is the commit in the journal.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from artificer.errors import ConfigError, GitError, NotFoundError
from artificer.runtime.builds.git import Git, require_git
from artificer.runtime.builds.guard import BASE, config_text, keep_ours, object_format
from artificer.runtime.builds.litter import without_litter
from artificer.runtime.builds.merging import message_of
from artificer.runtime.builds.scope import Sorted, present, sort_changes
from artificer.values.text import well_formed

INTEGRATION = "refs/build/integration"
ATTEMPTS = "refs/build/attempts"
MAX_ARGUMENTS = 200
"""Paths that are given to one git command."""

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
    """The result of committing a worktree's changes. ``unchanged`` means there were none."""

    commit: str
    files: Sorted
    unchanged: bool


@dataclass
class BuildRepository:
    """The repository in ``folder/repo.git`` and the worktrees in ``folder/work``."""

    folder: Path
    base: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    async def open(cls, folder: Path, project: Path) -> BuildRepository:
        """Open a build's repository, or make it from the commit that the project is at.

        Raises:
            NotFoundError: the project is in no git repository, or has no commit.
            ConfigError: git is missing or too old, or the project is only a part of a repository.
            GitError: git failed.
        """
        await require_git()
        repository = cls(folder, "")
        if not (folder / "repo.git").is_dir():
            await repository._clone(project)
        base = await repository.git.commit_of(BASE)
        if base is None:
            raise GitError(f"{folder} holds no build.", hint="Remove the folder and begin again.")
        repository.base = base
        return repository

    @property
    def git(self) -> Git:
        """git on this repository, without files."""
        return Git(self.folder, {"GIT_DIR": str(self.git_dir)}, guard=self.guard)

    def guard(self) -> None:
        """Put the repository's configuration back, if anything but us has changed it."""
        keep_ours(self.git_dir)

    @property
    def git_dir(self) -> Path:
        """The bare repository."""
        return self.folder / "repo.git"

    async def _clone(self, project: Path) -> None:
        """Clone into a folder of its own, which becomes the repository when it is whole.

        git links the objects where it can and copies them where it cannot: on another file system.
        """
        theirs = Git(project, trusting=True)
        top, prefix, head = await _place_of(theirs, project)
        if prefix:
            raise ConfigError(
                f"{project} is a part of the repository {top}.", hint=f"Begin the build in {top}."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="cloning-", dir=self.folder))
        await theirs.run(
            "clone",
            "--quiet",
            "--bare",
            "--template=",
            "--",
            top,
            str(made / "repo.git"),
        )
        ours = Git(self.folder, {"GIT_DIR": str(made / "repo.git")})
        config = config_text(object_format(head), bare=True)
        (made / "repo.git" / "config").write_text(config, encoding="utf-8")
        for ref in (BASE, INTEGRATION):
            await ours.run("update-ref", ref, head)
        _put(made / "repo.git", self.git_dir)
        shutil.rmtree(made)

    @classmethod
    async def copied(cls, source: Path, folder: Path) -> BuildRepository:
        """A copy of a build's repository, with all that it ever committed and no worktree.

        Raises:
            NotFoundError: there is none in ``source``.
            GitError: it holds no build.
        """
        if not (source / "repo.git").is_dir():
            raise NotFoundError(f"There is no build in {source}.")
        await asyncio.to_thread(_copy, source, folder)
        return await cls.open(folder, folder)

    def provide(self, links: Sequence[tuple[str, str]]) -> None:
        """Put links to folders of the project above all worktrees, where programs look for them."""
        for name, target in links:
            with suppress(FileExistsError):
                (self.folder / name).symlink_to(target)

    # --- worktrees ------------------------------------------------------------------------------

    async def worktree(self, name: str, commit: str) -> Worktree:
        """The worktree of this name: as it was left, or made anew with the files of a commit.

        Raises:
            GitError: there is one of that name for another commit, or git failed.
        """
        if not _NAME.fullmatch(name):
            raise GitError(f"{name!r} is no name for a worktree.")
        made = Worktree(name, self.folder / "work" / name, commit, self._index(name))
        mark = made.index.with_suffix(".commit")
        if made.path.is_dir() and mark.is_file():
            if mark.read_text() != commit:
                raise GitError(f"The worktree {name} is at another commit.")
            return made
        await self.discard(name)
        await self._check_out(made)
        whole = mark.with_suffix(".writing")
        whole.write_text(commit)
        _put(whole, mark)
        return made

    async def _check_out(self, worktree: Worktree) -> None:
        worktree.path.parent.mkdir(parents=True, exist_ok=True)
        worktree.index.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="tmp-", dir=worktree.path.parent))
        git = self._with_files(fresh, worktree.index)
        await git.run("read-tree", "--reset", "-u", worktree.commit)
        self._throw_away_repository(fresh, worktree)
        _put(fresh, worktree.path)

    def _throw_away_repository(self, folder: Path, worktree: Worktree) -> None:
        """A ``.git`` for programs that ask git which files there are, or for a description."""
        own = folder / ".git"
        for part in ("objects/info", "refs/heads", "refs/tags"):
            (own / part).mkdir(parents=True)
        config = config_text(object_format(worktree.commit), bare=False)
        (own / "config").write_text(config, encoding="utf-8")
        (own / "HEAD").write_text(f"{worktree.commit}\n")
        (own / "objects/info/alternates").write_text(f"{self.git_dir / 'objects'}\n")
        packed = self.git_dir / "packed-refs"
        tags = [line for line in _lines(packed) if line.partition(" ")[2].startswith("refs/tags/")]
        (own / "packed-refs").write_text("".join(f"{tag}\n" for tag in tags))
        shutil.copyfile(worktree.index, own / "index")

    def _with_files(self, work_tree: Path, index: Path) -> Git:
        env = {
            "GIT_DIR": str(self.git_dir),
            "GIT_WORK_TREE": str(work_tree),
            "GIT_INDEX_FILE": str(index),
        }
        return Git(work_tree, env, guard=self.guard)

    def _index(self, name: str) -> Path:
        return self.folder / "index" / name

    async def discard(self, name: str) -> None:
        """Remove a worktree, or what is left of it. Its commits stay."""
        index = self._index(name)
        for suffix in (".commit", ".writing", ".project"):
            index.with_suffix(suffix).unlink(missing_ok=True)
        await asyncio.to_thread(shutil.rmtree, self.folder / "work" / name, True)
        adding = index.with_suffix(".adding")
        for file in (index, adding, *map(_lock_of, (index, adding))):
            file.unlink(missing_ok=True)

    def unlock(self) -> None:
        """Remove the locks of a git that has died. Only for whoever drives the build alone."""
        for folder in (self.folder / "index", self.git_dir / "refs/build"):
            for lock in folder.rglob("*.lock"):
                lock.unlink(missing_ok=True)

    async def clean_up(self, keep: Collection[str] = ()) -> list[str]:
        """Remove every worktree but those of these names, and what a crash left half made."""
        for file in self.folder.glob("cloning-*"):
            await asyncio.to_thread(shutil.rmtree, file, True)
        work = self.folder / "work"
        names = sorted(path.name for path in work.iterdir()) if work.is_dir() else []
        gone = [name for name in names if name not in keep]
        for name in gone:
            await self.discard(name)
        return gone

    # --- commits --------------------------------------------------------------------------------

    async def changes(self, worktree: Worktree, scope: Sequence[str] = ()) -> list[str]:
        """Every path that is not as in the commit, but for those that git is told to ignore and
        those that tools leave behind.

        What a scope names one by one is looked at even if it is ignored. A folder that is a
        repository of its own ends in a slash.
        """
        git = self._with_files(worktree.path, worktree.index)
        changed = await git.paths(
            *("diff", "--no-ext-diff", "--no-textconv", "-z", "--name-only", "--no-renames"),
            "--ignore-submodules=all",
        )
        listed = await git.paths(
            "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard"
        )
        others = [entry[2:] for entry in listed if entry.startswith("? ")]
        known = {entry[2:] for entry in listed} - set(others)
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
        for start in range(0, len(files.inside), MAX_ARGUMENTS):
            some = files.inside[start : start + MAX_ARGUMENTS]
            await git.run("update-index", "--add", "--remove", "--", *some)
        tree = await git.run("write-tree")
        adding.unlink()
        if tree == await self.git.run("rev-parse", f"{worktree.commit}^{{tree}}"):
            return CommitResult(worktree.commit, files, unchanged=True)
        commit = await self.git.run(
            "commit-tree", tree, "-p", worktree.commit, "-m", message_of(message), at=at
        )
        await self.git.run("update-ref", f"{ATTEMPTS}/{worktree.name}", commit)
        return CommitResult(commit, files, unchanged=False)

    # --- reading commits --------------------------------------------------------------------------

    async def changed(self, base: str, commit: str) -> list[tuple[str, str, str]]:
        """Return the differences of two commits: a signal, the old path, the new path.

        ``A`` was added, ``D`` deleted, ``R`` renamed, and everything else is ``M``.
        """
        said = await self.git.paths("diff-tree", "-r", "-z", "-M", "--name-status", base, commit)
        found: list[tuple[str, str, str]] = []
        fields = iter(said)
        for status in fields:
            old = next(fields)
            new = next(fields) if status[0] in "RC" else old
            found.append((status[0] if status[0] in "ADR" else "M", old, new))
        return found

    async def text(self, commit: str, path: str) -> str | None:
        """Return a file of a commit, or None. Bytes that are not text are replaced."""
        answer = await self.git.ask("cat-file", "blob", f"{commit}:{path}")
        return well_formed(answer.out) if answer.exit_code == 0 else None

    async def texts(self, commit: str, paths: Collection[str]) -> dict[str, str]:
        """Return those of these files that a commit has."""
        if not paths:
            return {}
        there = await self.git.paths("ls-tree", "-z", "--name-only", commit, "--", *paths)
        found = {path: await self.text(commit, path) for path in there}
        return {path: text for path, text in found.items() if text is not None}

    async def diff(self, base: str, commit: str) -> str:
        """Return the difference of two commits, for people to read."""
        return well_formed(
            await self.git.run(
                "diff", "--no-ext-diff", "--no-textconv", "--stat", "--patch", "-M", base, commit
            )
        )

    # --- the integration branch ------------------------------------------------------------------

    async def integration(self) -> str:
        """Where the integration branch stands."""
        return await self.git.run("rev-parse", INTEGRATION)

    async def move_integration(self, commit: str) -> None:
        """Let the integration branch stand at a commit: the journal says where, not the branch."""
        await self.git.run("update-ref", INTEGRATION, commit)


async def _place_of(git: Git, project: Path) -> tuple[str, str, str]:
    """The top folder of a project's repository, the project's place in it, and its commit."""
    answer = await git.ask("rev-parse", "--is-inside-work-tree", "--show-prefix", "--show-toplevel")
    inside, _, rest = answer.out.removesuffix("\n").partition("\n")
    if answer.exit_code != 0 or inside != "true":
        raise NotFoundError(
            f"{project} is in no git repository.", hint="`git init`, and commit what is there."
        )
    head = await git.commit_of("HEAD")
    if head is None:
        raise NotFoundError(
            f"The repository of {project} has no commit.", hint="Commit what is there first."
        )
    prefix, _, top = rest.partition("\n")
    return top, prefix, head


def _lock_of(index: Path) -> Path:
    return Path(f"{index}.lock")


def _copy(source: Path, folder: Path) -> None:
    passing = shutil.ignore_patterns("*.lock", "tmp_*")  # what somebody is writing just now
    shutil.copytree(source / "repo.git", folder / "copying", ignore=passing)
    shutil.copyfile(source / "project.json", folder / "project.json")
    _put(folder / "copying", folder / "repo.git")


def _put(made: Path, place: Path) -> None:
    """Give what is whole its name: before, there is nothing of that name."""
    made.rename(place)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []

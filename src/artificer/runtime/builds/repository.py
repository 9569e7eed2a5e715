"""The repository of a build: a person's own is read once, and written only when they promote.

It is a bare clone, in a folder of ours, that shares no file with the original that could change.
Where a branch stands is for people to see; what counts is the commit in the journal.
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
from artificer.runtime.builds.worktrees import Worktrees, put
from artificer.values.text import well_formed

INTEGRATION = "refs/build/integration"
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MAX_TOGETHER = 20
"""Files that one git process reads: a commit of ours has none above 5 MiB."""


@dataclass
class BuildRepository:
    """The repository in ``folder/repo.git``: its commits and its integration branch."""

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
            repository.base = await repository._clone(project)
            return repository
        base = await repository.git.commit_of(BASE)
        if base is None:
            raise GitError(
                f"{folder} does not contain a build.", hint="Remove the folder and start again."
            )
        repository.base = base
        return repository

    @property
    def git(self) -> Git:
        """git on this repository, without files."""
        return Git(self.folder, {"GIT_DIR": str(self.git_dir)}, guard=self.guard)

    def guard(self) -> None:
        """Restore the repository's configuration, if anything else has changed it."""
        keep_ours(self.git_dir)

    @property
    def git_dir(self) -> Path:
        """The bare repository."""
        return self.folder / "repo.git"

    @property
    def worktrees(self) -> Worktrees:
        """The folders in which runs work."""
        return Worktrees(self.folder, self.git)

    async def _clone(self, project: Path) -> str:
        """Clone into its own folder, which becomes the repository when it is whole, and return
        the commit that the project is at.

        git links the objects where it can and copies them where it cannot: on another file system.
        """
        theirs = Git(project, trusting=True)
        top, prefix, head = await _place_of(theirs, project)
        if prefix:
            raise ConfigError(
                f"{project} is part of the repository {top}.", hint=f"Start the build in {top}."
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
        await ours.point((BASE, INTEGRATION), head)
        put(made / "repo.git", self.git_dir)
        shutil.rmtree(made)
        return head

    @classmethod
    async def copied(cls, source: Path, folder: Path) -> BuildRepository:
        """A copy of a build's repository, with all that it ever committed and no worktree.

        Raises:
            NotFoundError: there is none in ``source``.
            GitError: it does not contain a build.
        """
        if not (source / "repo.git").is_dir():
            raise NotFoundError(f"No build found in {source}.")
        await asyncio.to_thread(_copy, source, folder)
        return await cls.open(folder, folder)

    def provide(self, links: Sequence[tuple[str, str]]) -> None:
        """Put links to folders of the project above all worktrees, where programs look for them."""
        for name, target in links:
            with suppress(FileExistsError):
                (self.folder / name).symlink_to(target)

    def unlock(self) -> None:
        """Remove the locks of a dead git. Only the holder of the build's lock may call this."""
        for folder in (self.folder / "index", self.git_dir / "refs/build"):
            for lock in folder.rglob("*.lock"):
                lock.unlink(missing_ok=True)

    async def clean_up(self, keep: Collection[str] = ()) -> list[str]:
        """Remove every worktree but those of these names, and what a crash left half made."""
        for file in self.folder.glob("cloning-*"):
            await asyncio.to_thread(shutil.rmtree, file, True)
        return await self.worktrees.clean_up(keep)

    # --- reading commits --------------------------------------------------------------------------

    async def texts(self, files: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return those of these files, each a commit and a path, that there are.

        Bytes that are not text are replaced.
        """
        some = list(dict.fromkeys(files))
        found: dict[tuple[str, str], str] = {}
        for start in range(0, len(some), MAX_TOGETHER):
            part = some[start : start + MAX_TOGETHER]
            blobs = await self.git.blobs([f"{commit}:{path}" for commit, path in part])
            texts = zip(part, blobs, strict=True)
            found |= {file: well_formed(text) for file, text in texts if text is not None}
        return found

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
    shown = ("--is-inside-work-tree", "--show-prefix", "--show-toplevel")
    answer = await git.ask("rev-parse", *shown, "HEAD^{commit}")
    inside, _, rest = answer.out.removesuffix("\n").partition("\n")
    if inside != "true":
        raise NotFoundError(
            f"{project} is not in a git repository.", hint="Run `git init` and commit the project."
        )
    prefix, _, place = rest.partition("\n")
    top, _, head = place.rpartition("\n")
    if answer.exit_code != 0 or not _NAME.fullmatch(head):  # a file could have the name we asked by
        raise NotFoundError(
            f"The repository of {project} has no commit.", hint="Commit the project first."
        )
    return top, prefix, head


def _copy(source: Path, folder: Path) -> None:
    passing = shutil.ignore_patterns("*.lock", "tmp_*")  # what somebody is writing just now
    shutil.copytree(source / "repo.git", folder / "copying", ignore=passing)
    shutil.copyfile(source / "project.json", folder / "project.json")
    put(folder / "copying", folder / "repo.git")

"""The only access to git: argv, bounded, and unaffected by a repository's contents.

A build writes files, so files are not believed. Our own repository has a configuration that we
wrote and nothing else, and is named in every call: a ``.git`` in a worktree is never looked at.
Then attributes can name filters and merge drivers as they like, for none is defined. No call runs
a hook, a file system monitor, a pager, an editor, a signing program or a transport other than to a
local path; replacement objects are not followed, and a path is never a pattern.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from artificer.backends.process.capture import Capture
from artificer.backends.process.run import Stdio, run_process
from artificer.errors import ConfigError, GitError, NotFoundError
from artificer.values.text import clip

SECONDS = 300
OLDEST = (2, 38)
"""The first release with ``git merge-tree --write-tree``."""

_HARMLESS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "diff.external": "",
    "commit.gpgSign": "false",
    "credential.helper": "",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
}

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}

_NOBODY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
}
"""Environment variables that make git read only a repository's own configuration."""

_AUTHOR = {
    "GIT_AUTHOR_NAME": "Artificer",
    "GIT_AUTHOR_EMAIL": "artificer@localhost",
    "GIT_COMMITTER_NAME": "Artificer",
    "GIT_COMMITTER_EMAIL": "artificer@localhost",
}


@dataclass(frozen=True)
class GitResult:
    """The output of a git command. ``out`` is all of it."""

    exit_code: int
    out: str
    err: str


@dataclass(frozen=True)
class Git:
    """git on one repository.

    ``env`` says which: ``GIT_DIR``, and where files are concerned ``GIT_WORK_TREE`` and
    ``GIT_INDEX_FILE``. With ``trusting`` it is a person's own repository, whose configuration
    counts, except for programs that it would start. ``guard`` is called before each call.
    """

    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    trusting: bool = False
    guard: Callable[[], None] | None = None

    async def ask(self, *args: str, at: int | None = None, stdin: bytes = b"") -> GitResult:
        """Run git, whatever its exit code. ``at`` is the time of a commit, in seconds.

        Raises:
            GitError: it cannot be started, did not end in time, or its output is too long.
        """
        if self.guard is not None:
            self.guard()
        config = [part for pair in _HARMLESS.items() for part in ("-c", "=".join(pair))]
        argv = ["git", *config, "--no-pager", *args]
        with Capture(Path(tempfile.gettempdir())) as out:
            try:
                done = await run_process(
                    argv,
                    env=self._environment(at),
                    cwd=self.cwd,
                    seconds=SECONDS,
                    stdio=Stdio(stdin, out),
                )
            except FileNotFoundError as error:
                if not self.cwd.is_dir():
                    raise NotFoundError(
                        f"The folder {self.cwd} does not exist.",
                        hint="Was the project moved? A build needs it in its original place.",
                    ) from error
                raise ConfigError(
                    "A build needs git.", hint="Install git 2.38 or newer."
                ) from error
            except OSError as error:
                raise GitError(
                    f"git could not be started: {error}.",
                    hint="Check that git works: git --version",
                ) from error
            if done.exit_code is None:
                raise GitError(f"git {_command(args)} did not end within {SECONDS} s.")
            if not out.is_whole:
                raise GitError(f"git {_command(args)} produced more output than allowed.")
            whole = b"".join(out.pieces()).decode("utf-8", "surrogateescape")
        return GitResult(done.exit_code, whole, done.stderr.text)

    async def run(self, *args: str, at: int | None = None) -> str:
        """Run git and return its output, without the line end. Raises GitError when it fails."""
        answer = await self.ask(*args, at=at)
        if answer.exit_code != 0:
            message = " ".join((answer.err or answer.out).split())
            raise GitError(f"git {_command(args)} failed: {clip(message, 400)}.")
        return answer.out.removesuffix("\n")

    async def paths(self, *args: str) -> list[str]:
        """Run git with NUL-separated output (``-z`` is among ``args``)."""
        return [path for path in (await self.run(*args)).split("\0") if path]

    async def blobs(self, names: Sequence[str]) -> list[str | None]:
        """The contents of files by their names (``COMMIT:PATH``); None for what is no file."""
        if not names:
            return []
        wanted = [name.encode("utf-8", "surrogateescape") for name in names]
        stdin = b"".join(name + b"\0" for name in wanted)
        answer = await self.ask("cat-file", "--batch", "-z", stdin=stdin)
        if answer.exit_code != 0:
            raise GitError(f"git cat-file failed: {clip(answer.err, 400)}.")
        return list(_blobs(wanted, answer.out.encode("utf-8", "surrogateescape")))

    async def differences(self, one: str, other: str) -> list[tuple[str, str, str]]:
        """Return the differences of two commits or trees: a letter, the old path, the new path.

        The letters are git's: ``A`` was added, ``D`` deleted, ``R`` renamed, and everything else
        is ``M``.
        """
        found: list[tuple[str, str, str]] = []
        fields = iter(await self.paths("diff-tree", "-r", "-z", "-M", "--name-status", one, other))
        for status in fields:
            old = next(fields)
            new = next(fields) if status[0] in "RC" else old
            found.append((status[0] if status[0] in "ADR" else "M", old, new))
        return found

    async def commit_of(self, revision: str) -> str | None:
        """The full name of a commit, or None for what is none."""
        answer = await self.ask(
            "rev-parse", "--verify", "--quiet", *_NO_OPTION, f"{revision}^{{commit}}"
        )
        return answer.out.strip() if answer.exit_code == 0 else None

    async def point(self, refs: Sequence[str], commit: str) -> None:
        """Let all of these refs stand at a commit, or none of them."""
        lines = "".join(f"update {ref} {commit}\n" for ref in refs)
        answer = await self.ask("update-ref", "--stdin", stdin=lines.encode())
        if answer.exit_code != 0:
            raise GitError(f"git update-ref failed: {clip(answer.err, 400)}.")

    async def merge_base(self, one: str, other: str) -> str | None:
        """A best common ancestor of two commits; None if they share no history."""
        answer = await self.ask("merge-base", one, other)
        if answer.exit_code > 1:
            raise GitError(f"git cannot compare two commits: {clip(answer.err, 200)}.")
        return answer.out.strip() or None

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one commit is in the history of another, or is it."""
        answer = await self.ask("merge-base", "--is-ancestor", older, newer)
        if answer.exit_code > 1:
            raise GitError(f"git cannot compare two commits: {clip(answer.err, 200)}.")
        return answer.exit_code == 0

    def _environment(self, at: int | None) -> dict[str, str]:
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        home = {n: v for n in ("HOME", "XDG_CONFIG_HOME") if (v := os.environ.get(n))}
        date = {} if at is None else dict.fromkeys(_DATES, f"@{at} +0000")
        return {
            **path,
            **(home if self.trusting else _NOBODY),
            **_QUIET,
            **_AUTHOR,
            **date,
            **self.env,
        }


_NO_OPTION = ("--end-of-options",)
_DATES = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")


def _command(args: tuple[str, ...]) -> str:
    return next((word for word in args if word.isalpha() or "-" in word[1:-1]), args[0])


def _blobs(wanted: Sequence[bytes], answer: bytes) -> Iterator[str | None]:
    """Read git's answer: for each name a line with the kind and the size, and the contents."""
    at = 0
    for name in wanted:
        missing = name + b" missing\n"
        if answer.startswith(missing, at):
            at += len(missing)
            yield None
            continue
        start = answer.index(b"\n", at) + 1
        _, kind, size = answer[at : start - 1].split(b" ")
        at = start + int(size) + 1
        yield answer[start : at - 1].decode("utf-8", "surrogateescape") if kind == b"blob" else None


_new_enough: set[str] = set()
"""The search paths by which a git was found that is new enough."""


async def require_git() -> None:
    """Raise ConfigError unless there is a git that can merge without a worktree."""
    path = os.environ.get("PATH", os.defpath)
    if path in _new_enough:
        return
    version = await Git(Path("/")).run("version")
    numbers = [part for part in version.split() if part[:1].isdigit()]
    parts = tuple(int(n) for n in numbers[0].split(".")[:2]) if numbers else (0, 0)
    if parts < OLDEST:
        raise ConfigError(
            f"A build needs git 2.38 or newer; this is {version!r}.", hint="Install a newer git."
        )
    _new_enough.add(path)

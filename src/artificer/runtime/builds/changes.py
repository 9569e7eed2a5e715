"""The changed files of a commit that matter to its validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from artificer.runtime.builds.evidence.checks import is_looked_at, recipe_files
from artificer.runtime.builds.evidence.tests import FileChange, is_test, readable
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.worktrees import CommitResult

MAX_READ = 400
"""Changed files whose text is looked at."""


async def changes_of(
    repository: BuildRepository, base: str, committed: CommitResult, line: str
) -> tuple[list[FileChange], Callable[[str], str | None]]:
    """Return the changes of a commit, and what reads the files that define the check ``line``, as
    they were before it. Texts are read where they matter to the check.
    """
    commit = committed.commit
    wanted = [(base, path) for path in recipe_files(line)]
    changes = list(_with_matter(committed.changed, line))
    wanted += [(base, old) for status, old, _, whole in changes if whole and status != "A"]
    wanted += [(commit, new) for status, _, new, whole in changes if whole and status != "D"]
    texts = {file: readable(text) for file, text in (await repository.texts(wanted)).items()}
    found = []
    for status, old, new, whole in changes:
        before = None if status == "A" else texts.get((base, old)) if whole else ""
        after = None if status == "D" else texts.get((commit, new)) if whole else ""
        found.append(FileChange(new, before, after, old if status == "R" else ""))
    return found, lambda path: texts.get((base, path))


def _with_matter(
    changed: Sequence[tuple[str, str, str]], line: str
) -> Iterator[tuple[str, str, str, bool]]:
    """The changes, each with whether its text is looked at."""
    read = 0
    for status, old, new in changed:
        matters = any(is_test(path) or is_looked_at(line, path) for path in (old, new))
        read += matters
        yield status, old, new, matters and read <= MAX_READ

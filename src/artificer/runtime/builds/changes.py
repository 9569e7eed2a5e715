"""The changed files of a commit, as far as they matter to what its validation proves."""

from __future__ import annotations

from collections.abc import Callable

from artificer.runtime.builds.evidence.checks import is_looked_at, recipe_files
from artificer.runtime.builds.evidence.tests import FileChange, is_test, readable
from artificer.runtime.builds.repository import BuildRepository

MAX_READ = 400
"""Changed files whose text is looked at."""


async def changes_of(
    repository: BuildRepository, base: str, commit: str, line: str
) -> list[FileChange]:
    """Return the changes of a commit. Texts are read where they matter to the check ``line``."""
    found: list[FileChange] = []
    read = 0
    for status, old, new in await repository.changed(base, commit):
        matters = any(is_test(path) or is_looked_at(line, path) for path in (old, new))
        read += matters
        whole = matters and read <= MAX_READ
        before = None if status == "A" else await _text(repository, base, old, whole=whole)
        after = None if status == "D" else await _text(repository, commit, new, whole=whole)
        found.append(FileChange(new, before, after, old if status == "R" else ""))
    return found


async def _text(repository: BuildRepository, commit: str, path: str, *, whole: bool) -> str | None:
    text = await repository.text(commit, path) if whole else ""
    return None if text is None else readable(text)


async def base_reader(
    repository: BuildRepository, base: str, line: str
) -> Callable[[str], str | None]:
    """Reads the files by which the check ``line`` is defined, as they were."""
    texts = await repository.texts(base, recipe_files(line))
    return {path: readable(text) for path, text in texts.items()}.get

"""The runs of a world: newest first, read page by page, or found by the beginning of an id."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from artificer.errors import NotFoundError
from artificer.ports import Journal, RunHead
from artificer.values.arguments import optional

PAGE = 100
"""Runs that are read at once."""


async def newest(
    journal: Journal, *, builds: bool = True, before: str | None = None
) -> AsyncIterator[RunHead]:
    """Yield every run with a record; without ``builds`` none that a build started.

    With ``before``, only runs that are older than that one.

    A run that was acquired and died before it wrote has no record.
    """
    parents: dict[str, bool] = {}
    before = optional("before", before)
    while page := await journal.runs(before, PAGE):
        for head in reversed(page):
            if head.head.seq and (builds or not await _of_build(journal, head.run, parents)):
                yield head
        before = page[0].run


async def recorded_runs(journal: Journal) -> list[str]:
    """Return the ids of every run with a record, oldest first."""
    return [head.run for head in await journal.runs() if head.head.seq]


def is_of_build(run: str, runs: Collection[str]) -> bool:
    """Whether a run was started by one of these runs that is a build."""
    return "." in run and run.rpartition(".")[0] in runs


async def find_run(journal: Journal, word: str) -> str:
    """Return the id of the only run that starts with ``word``, or of the newest for ``last``.

    Raises:
        NotFoundError: none does, or several do.
    """
    if word == "last":
        async for head in newest(journal, builds=False):
            return head.run
    if await exists(journal, word):
        return word
    names = dict.fromkeys(await recorded_runs(journal))
    runs = [run for run in names if word and run.startswith(word)]
    found = [run for run in runs if not is_of_build(run, names)] or runs
    if len(found) == 1:
        return found[0]
    which = f"{len(found)} runs begin with" if found else "No run matches"
    raise NotFoundError(f"{which} {word!r}.", hint="`artificer runs` lists them.")


async def exists(journal: Journal, run: str) -> bool:
    """Whether a run has a record, be it a pruned one."""
    try:
        return bool(await journal.read(run, limit=1))
    except NotFoundError:  # the contents of its records were removed
        return True


async def _of_build(journal: Journal, run: str, parents: dict[str, bool]) -> bool:
    """Whether another run started this one: a build, whose name begins this one's."""
    parent, dot, _ = run.rpartition(".")
    if dot and parent not in parents:
        parents[parent] = await exists(journal, parent)
    return bool(dot) and parents[parent]

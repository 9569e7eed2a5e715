"""The runs of a world, newest first, read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

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

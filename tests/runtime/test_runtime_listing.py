"""Runs are listed newest first, page by page."""

from __future__ import annotations

import pytest

from artificer.errors import NotFoundError
from artificer.ports import Head
from artificer.runtime.listing.runs import PAGE, exists, find_run, newest
from artificer.storage.memory import MemoryJournal
from artificer.testing.records import records_after

pytestmark = pytest.mark.req("runs-page")


async def journal_of(*runs: str) -> MemoryJournal:
    """A journal with a record of each run."""
    journal = MemoryJournal()
    for run in runs:
        lease = await journal.acquire(run)
        await journal.append(run, lease.epoch, Head(), records_after(Head(), run, "fact"))
    return journal


async def listed(journal: MemoryJournal, *, builds: bool = True) -> list[str]:
    return [head.run async for head in newest(journal, builds=builds)]


async def test_every_run_is_listed_once_however_many_pages_there_are() -> None:
    """The last page is not full, and one that is full is not the last."""
    names = [f"run-{n}" for n in range(2 * PAGE + 1)]
    assert await listed(await journal_of(*names)) == names[::-1]
    assert await listed(await journal_of(*names[:PAGE])) == names[:PAGE][::-1]


async def test_a_run_without_a_record_is_not_listed() -> None:
    """It was acquired, and its process died."""
    journal = await journal_of("one")
    await journal.acquire("two")
    assert await listed(journal) == ["one"]
    assert await exists(journal, "one") and not await exists(journal, "two")


async def test_runs_of_builds_are_left_out_though_the_build_is_on_another_page() -> None:
    """A point in a name does not make a run one of a build."""
    children = [f"build.{n}" for n in range(PAGE)]
    journal = await journal_of("build", "a.name", *children)
    assert await listed(journal, builds=False) == ["a.name", "build"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("ab", "ab-1"),  # and not the runs that this build started
        ("ab-1.", "ab-1.plan"),
        ("ab-1", "ab-1"),
        ("ac", "ac-1"),
        ("last", "ac-1"),
        ("a", None),
        ("x", None),
        ("", None),
    ],
)
async def test_a_run_is_found_by_the_beginning_of_its_id(word: str, found: str | None) -> None:
    journal = await journal_of("ab-1", "ab-1.plan", "ac-1")
    await journal.acquire("xy-1")
    if found is not None:
        assert await find_run(journal, word) == found
        return
    with pytest.raises(NotFoundError, match="2 runs begin with" if word == "a" else "No run match"):
        await find_run(journal, word)

"""Both keepers of versions behave as the port says, and the one on disk between processes too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import preloaded
from artificer.ports import Head, Versions
from artificer.storage.memory import MemoryJournal
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after
from artificer.testing.versions_suite import VersionsSuite
from artificer.values.canon import digest_of

A = digest_of(b"a")

CLIMBER = """
import sys
from artificer.storage.sqlite import SqliteJournal
from artificer.values.canon import digest_of
versions, won = SqliteJournal(sys.argv[1], "process").versions, 0
while won < 20:
    head = versions.head("w")
    won += versions.add("w", (head[0] if head else 0) + 1, digest_of(sys.argv[2].encode()))
"""
"""A process that adds twenty versions, whoever else does so too."""


@pytest.mark.req("versions-port")
class TestMemoryVersions(VersionsSuite):
    @pytest.fixture
    async def versions(self) -> AsyncIterator[Versions]:
        journal = MemoryJournal()
        yield journal.versions
        assert await journal.audit() == []


@pytest.mark.req("versions-port")
class TestSqliteVersions(VersionsSuite):
    @pytest.fixture(params=["power", "process"])
    async def versions(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> AsyncIterator[Versions]:
        async with SqliteJournal(tmp_path / "journal.db", request.param) as journal:
            yield journal.versions
            assert await journal.audit() == []


@pytest.mark.req("versions-port")
async def test_of_many_processes_one_wins_each_number(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    climbers = [await preloaded.start("-c", CLIMBER, str(path), name) for name in "ab"]
    assert await asyncio.gather(*(climber.wait() for climber in climbers)) == [0, 0]
    async with SqliteJournal(path) as journal:
        head = journal.versions.head("w")
        assert head is not None and head[0] == 40
        made = [journal.versions.get("w", number) for number in range(1, 41)]
        assert [made.count(digest_of(name)) for name in (b"a", b"b")] == [20, 20]
        assert await journal.audit() == []


@pytest.mark.req("versions-disk")
async def test_versions_are_added_while_runs_are_recorded(tmp_path: Path) -> None:
    """The two write one file on two connections, and share one chain."""
    async with SqliteJournal(tmp_path / "journal.db", "process") as journal:
        lease, head = await journal.acquire("run"), Head()

        def climb() -> list[bool]:
            return [journal.versions.add("w", n, A) for n in range(1, 41)]

        climbing = asyncio.ensure_future(asyncio.to_thread(climb))
        for turn in range(40):
            head = await journal.append("run", lease.epoch, head, records_after(head, "run", turn))
        assert all(await climbing)
        assert await journal.position() == 80
        assert await journal.audit() == []


@pytest.mark.req("versions-disk")
async def test_versions_outlive_their_process_and_their_journal(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "new" / "journal.db") as first:
        assert first.versions.add("w", 1, A)
    assert first.versions.head("w") == (1, A)
    first.versions.close()
    async with SqliteJournal(tmp_path / "new" / "journal.db") as second:
        assert second.versions.head("w") == (1, A)

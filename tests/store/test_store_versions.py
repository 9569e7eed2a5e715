"""Both keepers of versions behave as the port says, and the one on disk between processes too."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from artificer.errors import ConfigError, TamperedError
from artificer.store import MemoryVersions, SqliteVersions
from artificer.testing.versions_suite import VersionsSuite
from artificer.values.canon import digest_of

A = digest_of(b"a")

CLIMBER = """
import sys
from artificer.store import SqliteVersions
from artificer.values.canon import digest_of
versions, won = SqliteVersions(sys.argv[1], "process"), 0
while won < 20:
    head = versions.head("w")
    won += versions.add("w", (head[0] if head else 0) + 1, digest_of(sys.argv[2].encode()))
"""
"""A process that adds twenty versions, whoever else does so too."""


@pytest.mark.req("versions-port")
class TestMemoryVersions(VersionsSuite):
    @pytest.fixture
    def versions(self) -> MemoryVersions:
        return MemoryVersions()


@pytest.mark.req("versions-port")
class TestSqliteVersions(VersionsSuite):
    @pytest.fixture(params=["power", "process"])
    def versions(self, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SqliteVersions]:
        versions = SqliteVersions(tmp_path / "workspaces.db", request.param)
        yield versions
        versions.close()


@pytest.mark.req("versions-port")
async def test_of_many_processes_one_wins_each_number(tmp_path: Path) -> None:
    path = tmp_path / "workspaces.db"
    climbers = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", CLIMBER, str(path), name)
        for name in "ab"
    ]
    assert await asyncio.gather(*(climber.wait() for climber in climbers)) == [0, 0]
    versions = SqliteVersions(path)
    head = versions.head("w")
    assert head is not None and head[0] == 40
    made = [versions.get("w", number) for number in range(1, 41)]
    assert [made.count(digest_of(name)) for name in (b"a", b"b")] == [20, 20]
    versions.close()


@pytest.mark.req("versions-disk")
class TestFile:
    def test_it_outlives_its_process_and_is_made_when_needed(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "workspaces.db"
        first = SqliteVersions(path)
        assert first.names() == [] and not path.parent.exists()
        assert first.add("w", 1, A)
        first.close()
        first.close()
        second = SqliteVersions(path)
        assert second.head("w") == (1, A)
        second.close()

    def test_another_file_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE theirs (x)")
        db.commit()
        db.close()
        before = path.read_bytes()
        with pytest.raises(ConfigError):
            SqliteVersions(path).add("w", 1, A)
        assert path.read_bytes() == before

    def test_a_damaged_file_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "workspaces.db"
        path.write_bytes(b"SQLite format 3\0" + b"rubbish " * 2000)
        with pytest.raises(TamperedError):
            SqliteVersions(path).head("w")

"""The anchor and the log, byte by byte."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import preloaded
from artificer.errors import OperatorError, TamperedError
from artificer.storage.sqlite import SqliteJournal
from artificer.storage.sqlite.anchor import SLOT_BYTES, Anchor, Mark, anchor_path, newest_mark
from artificer.storage.sqlite.damage import find_damage, require_database

HERE = Path(__file__).parent
WORLD = "sha256:" + "0" * 64
PAGE = 512

CRASHING = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA page_size = {page}")
db.execute("CREATE TABLE t (x)")
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA wal_autocheckpoint = 0")
for n in range(int(sys.argv[2])):
    db.execute("INSERT INTO t VALUES (?)", (bytes([n]) * 200,))
if sys.argv[3] == "again":
    db.execute("PRAGMA wal_checkpoint(RESTART)")
    for n in range(4):
        db.execute("INSERT INTO t VALUES (?)", (bytes([n]) * 200,))
os.kill(os.getpid(), 9)
"""


@pytest.mark.req("anchor")
class TestSlots:
    @given(order=st.permutations(range(1, 100)))
    @settings(max_examples=30)
    def test_an_older_mark_takes_no_newer_ones_place(
        self, order: list[int], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Processes note what they committed in any order; at most 63 others come between."""
        path = tmp_path_factory.mktemp("anchor") / "journal.db"
        anchors = [Anchor(path, synced=False) for _ in range(3)]
        near = sorted(order, key=lambda n: n + order.index(n) % 60)  # nobody is 64 late
        seen = 0
        for number, position in enumerate(near):
            anchors[number % 3].note(Mark(position, WORLD, "run", position))
            seen = max(seen, position)
            assert newest_mark(path) == Mark(seen, WORLD, "run", seen)
        for anchor in anchors:
            anchor.close()

    def test_a_long_name_of_a_run_is_left_out(self, tmp_path: Path) -> None:
        anchor = Anchor(tmp_path / "journal.db", synced=True)
        anchor.note(Mark(1, WORLD, "ü" * SLOT_BYTES, 1))
        anchor.sync()
        assert newest_mark(tmp_path / "journal.db") == Mark(1, WORLD)
        anchor.close()
        anchor.close()

    @pytest.mark.req("anchor-first")
    def test_a_new_one_is_durable_with_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[Path] = []

        def kept(handle: int) -> None:
            found = os.fstat(handle)
            places = (tmp_path, anchor_path(tmp_path / "journal.db"))
            synced.extend(place for place in places if os.path.samestat(place.stat(), found))

        monkeypatch.setattr(os, "fsync", kept)
        path = tmp_path / "journal.db"
        Anchor(path, synced=True).close()
        assert synced == [anchor_path(path), tmp_path]
        Anchor(path, synced=True).close()
        Anchor(tmp_path / "quick.db", synced=False).close()
        assert len(synced) == 2, "one that is there already, or need not be durable, is not synced"

    def test_what_cannot_be_written_stops_the_effect(self, tmp_path: Path) -> None:
        anchor = Anchor(tmp_path / "journal.db", synced=True)
        anchor.close()
        anchor.note(Mark(1, WORLD))
        with pytest.raises(OperatorError, match="cannot be written"):
            anchor.sync()

    @given(data=st.binary(max_size=3 * SLOT_BYTES))
    def test_whatever_lies_there_is_a_mark_or_none(
        self, data: bytes, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.mktemp("anchor") / "journal.db"
        anchor_path(path).write_bytes(data)
        assert newest_mark(path) is None

    def test_who_syncs_meanwhile_waits_until_it_is_durable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Calls of one turn start together: none may start on another one's unfinished sync."""
        anchor = Anchor(tmp_path / "journal.db", synced=True)
        anchor.note(Mark(1, WORLD, "run", 1))
        syncing, finish = threading.Event(), threading.Event()

        def slow(_: int) -> None:
            syncing.set()
            assert finish.wait(60)

        monkeypatch.setattr(os, "fsync", slow)
        first, second = (threading.Thread(target=anchor.sync) for _ in range(2))
        first.start()
        assert syncing.wait(60)
        second.start()
        second.join(0.2)
        waits = second.is_alive()
        finish.set()
        first.join()
        second.join()
        anchor.close()
        assert waits

    async def test_processes_that_write_at_once_leave_the_end_of_the_world(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "journal.db"
        words = [str(HERE / "fighter.py"), str(path), "0.5"]
        quiet = asyncio.subprocess.DEVNULL
        fighters = [await preloaded.start(*words, stdout=quiet) for _ in range(3)]
        assert [await fighter.wait() for fighter in fighters] == [0, 0, 0]
        async with SqliteJournal(path, read_only=True) as journal:
            mark = newest_mark(path)
            assert mark is not None and mark.position == await journal.position()
            assert await journal.audit() == []
            with pytest.raises(OperatorError, match="open for reading only"):
                await journal.anchor()


def crashed(folder: Path, rows: int, again: str) -> Path:
    path = folder / "t.db"
    script = CRASHING.format(page=PAGE)
    assert preloaded.run(["-c", script, str(path), str(rows), again]).returncode == -9
    return path


def rows_of(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return int(db.execute("SELECT count(*) FROM t").fetchone()[0])
    finally:
        db.close()


@pytest.mark.req("log-kept")
class TestDamage:
    @pytest.mark.parametrize("ahead", [0, 3 * (24 + PAGE)])
    @pytest.mark.parametrize("again", ["once", "again"])
    def test_whatever_sqlite_drops_is_found_before(
        self, tmp_path: Path, again: str, ahead: int
    ) -> None:
        """SQLite itself says what a flipped bit costs; what costs a row is always found."""
        path = crashed(tmp_path, 8, again)
        log = Path(f"{path}-wal").read_bytes() + bytes(ahead)
        assert find_damage(log) is None
        whole = rows_of(copied(path, tmp_path / "whole", log))
        frames = range(32, len(log), 24 + PAGE)
        last = max(at for at in frames if log[at + 8 : at + 16] == log[16:24])
        for at in range(0, len(log), 37):
            spoiled = bytearray(log)
            spoiled[at] ^= 1 << at % 8
            left = rows_of(copied(path, tmp_path / "spoiled", bytes(spoiled)))
            salt_of_last = last + 8 <= at < last + 16  # then it looks as if it was never written
            if left < whole and not salt_of_last:
                damage = find_damage(bytes(spoiled))
                assert damage is not None, at
                assert bool(damage.commits) == (at < last), at
            elif left == whole:
                assert find_damage(bytes(spoiled)) is None, at

    @pytest.mark.req("log-space")
    def test_a_frame_whose_page_never_came_is_no_damage(self, tmp_path: Path) -> None:
        """A process was killed between its two writes of a frame, into space made ahead."""
        path = crashed(tmp_path, 8, "once")
        log = Path(f"{path}-wal").read_bytes()
        begun = log + log[-(24 + PAGE) : -PAGE] + bytes(PAGE)
        assert find_damage(begun) is None
        assert rows_of(copied(path, tmp_path / "begun", begun)) == rows_of(path)
        assert find_damage(begun[:-1] + b"x") is not None

    @given(data=st.binary(max_size=3_000))
    def test_whatever_a_log_holds(self, data: bytes) -> None:
        find_damage(data)

    @given(page=st.integers(0, 2**32 - 1), rest=st.binary(min_size=24, max_size=600))
    def test_whatever_its_header_says(self, page: int, rest: bytes) -> None:
        find_damage(b"\x37\x7f\x06\x82" + bytes(4) + page.to_bytes(4, "big") + rest)


def copied(path: Path, folder: Path, log: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    copy = folder / path.name
    shutil.copy(path, copy)
    Path(f"{copy}-wal").write_bytes(log)
    return copy


@pytest.mark.req("journal-lost")
def test_an_empty_file_alone_is_a_journal_to_be(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    require_database(path)
    path.touch()
    os.truncate(path, 0)
    require_database(path)
    Path(f"{path}-wal").write_bytes(b"x")
    with pytest.raises(TamperedError):
        require_database(path)

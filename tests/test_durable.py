"""Records stay, whatever happens to the files: no command destroys or denies them."""

from __future__ import annotations

import asyncio
import logging
import re
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import charging
import preloaded
from artificer import World
from artificer.archive import Archive
from artificer.errors import OperatorError, TamperedError
from artificer.storage.sqlite import opening as sqlite_opening
from artificer.storage.sqlite.anchor import newest_mark
from artificer.storage.sqlite.database import PAGE
from needs import needs
from sampling import sample

HERE = Path(__file__).parent


def killed(folder: Path, kill: str) -> tuple[Path, Path]:
    """A home and a ledger as a process leaves them that is killed with SIGKILL."""
    home, ledger = folder / "home", folder / "ledger"
    done = preloaded.run([str(HERE / "charging.py"), str(home), str(ledger), kill])
    assert done.returncode == -9
    assert (home / "p" / "journal.db-wal").stat().st_size > 50_000
    return home, ledger


@pytest.fixture(scope="module", params=["in", "after"])
def crashed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    return killed(tmp_path_factory.mktemp("crashed"), request.param)


@pytest.fixture
def world(crashed: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """A copy of it that a test may spoil."""
    return fresh(crashed, tmp_path)


def fresh(crashed: tuple[Path, Path], folder: Path) -> tuple[Path, Path]:
    home, ledger = folder / "home", folder / "ledger"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(crashed[0], home)
    shutil.copy(crashed[1], ledger)
    return home, ledger


def contents(home: Path) -> dict[str, bytes]:
    """Every file and what it holds; the shared memory of SQLite is an index of the log."""
    return {
        str(path.relative_to(home)): b"" if path.name.endswith("-shm") else path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def in_use(log: bytes) -> int:
    """How much of a log is of its present round; space that was made ahead follows."""
    frame = 24 + int.from_bytes(log[8:12])
    starts = range(32, len(log), frame)
    return frame + max(at for at in starts if log[at + 8 : at + 16] == log[16:24])


def charged(ledger: Path) -> list[str]:
    return ledger.read_text().split()


async def refused(home: Path, ledger: Path) -> TamperedError:
    """Neither read nor resumed: nothing is charged, and no file is another one."""
    before, ran = contents(home), charged(ledger)
    with pytest.raises(TamperedError):
        async with Archive.open(charging.config(home)):
            pass
    with pytest.raises(TamperedError) as caught:
        await charging.resume(home, ledger)
    assert contents(home) == before
    assert charged(ledger) == ran
    return caught.value


async def problems(home: Path) -> list[str]:
    async with Archive.open(charging.config(home)) as archive:
        return (await archive.verify()).problems


@pytest.mark.req("anchor")
class TestTheLog:
    async def test_a_crash_alone_is_no_damage(self, world: tuple[Path, Path]) -> None:
        home, ledger = world
        assert await problems(home) == []
        run = await charging.resume(home, ledger)
        assert run.status == "completed"
        assert charged(ledger) == [str(n) for n in range(charging.CHARGES)]
        assert await problems(home) == []

    async def test_a_flipped_bit_anywhere_is_refused_and_nothing_acts_again(
        self, crashed: tuple[Path, Path], tmp_path: Path
    ) -> None:
        size = in_use((crashed[0] / "p" / "journal.db-wal").read_bytes())
        places = [*range(56), *range(60, size, size // 60), size - 1]
        for number, at in sample([*enumerate(places)], len(places) // 3, purpose="log"):
            home, ledger = fresh(crashed, tmp_path)
            flip(home / "p" / "journal.db-wal", at, 1 << number % 8)
            error = await refused(home, ledger)
            assert "has lost records" in error.message, at
            assert "Restore journal.db" in (error.hint or "")

    @pytest.mark.parametrize("length", [0, 32, 20_000])
    async def test_a_log_that_was_cut(self, world: tuple[Path, Path], length: int) -> None:
        home, ledger = world
        log = home / "p" / "journal.db-wal"
        log.write_bytes(log.read_bytes()[:length])
        assert "has lost records" in (await refused(home, ledger)).message

    async def test_a_log_that_is_gone(self, world: tuple[Path, Path]) -> None:
        home, ledger = world
        (home / "p" / "journal.db-wal").unlink()
        assert "has lost records" in (await refused(home, ledger)).message

    async def test_an_older_copy_of_the_journal(self, tmp_path: Path) -> None:
        home, ledger = tmp_path / "home", tmp_path / "ledger"
        await charging.begin(home, ledger)
        shutil.copy(home / "p" / "journal.db", tmp_path / "older.db")
        await charging.begin(home, ledger)
        shutil.copy(tmp_path / "older.db", home / "p" / "journal.db")
        assert "has lost records" in (await refused(home, ledger)).message

    async def test_the_journal_of_another_world(self, tmp_path: Path) -> None:
        home, ledger = tmp_path / "home", tmp_path / "ledger"
        await charging.begin(home, ledger)
        await charging.begin(tmp_path / "other", ledger)
        shutil.copy(tmp_path / "other" / "p" / "journal.db", home / "p" / "journal.db")
        assert "is not the one that its anchor knows" in (await refused(home, ledger)).message

    async def test_what_is_lost_can_be_given_up(self, world: tuple[Path, Path]) -> None:
        home, ledger = world
        flip(home / "p" / "journal.db-wal", 60_000, 1)
        await refused(home, ledger)
        (home / "p" / "journal.db-anchor").rename(home / "lost-anchor")
        assert "is missing or cannot be read" in (await problems(home))[0]
        async with World.open(charging.config(home)) as opened:
            assert (await opened.archive.verify()).problems != []  # the log that was kept says more


@pytest.mark.req("anchor")
class TestTheAnchor:
    async def test_a_missing_one_is_a_problem_until_it_is_made_again(
        self, world: tuple[Path, Path], caplog: pytest.LogCaptureFixture
    ) -> None:
        home, ledger = world
        (home / "p" / "journal.db-anchor").unlink()
        (problem,) = await problems(home)
        assert "is missing or cannot be read" in problem
        assert (await charging.resume(home, ledger)).status == "completed"
        assert "is gone, and is made again" in caplog.text
        assert await problems(home) == []

    async def test_one_that_another_process_makes_meanwhile_is_not_gone(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The world is made after its anchor was looked for, and before its file is opened."""
        home, look = tmp_path / "home", sqlite_opening.require_database

        def meanwhile(path: Path) -> None:
            monkeypatch.setattr(sqlite_opening, "require_database", look)
            charge = charging.begin(home, tmp_path / "ledger", "no")
            other = threading.Thread(target=asyncio.run, args=(charge,))
            other.start()
            other.join()
            look(path)

        monkeypatch.setattr(sqlite_opening, "require_database", meanwhile)
        async with World.open(charging.config(home)) as opened:
            assert (await opened.archive.verify()).sound
        assert caplog.text == ""

    async def test_one_that_holds_nothing_readable(self, world: tuple[Path, Path]) -> None:
        home, _ = world
        anchor = home / "p" / "journal.db-anchor"
        anchor.write_bytes(b"x" * len(anchor.read_bytes()))
        assert "is missing or cannot be read" in (await problems(home))[0]

    async def test_a_torn_slot_costs_one_position(self, world: tuple[Path, Path]) -> None:
        home, _ = world
        path = home / "p" / "journal.db"
        mark = newest_mark(path)
        assert mark is not None
        flip(Path(f"{path}-anchor"), mark.position % 64 * 512 + 40, 1)
        before = newest_mark(path)
        assert before is not None and 0 < mark.position - before.position < 8
        assert await problems(home) == []


@pytest.mark.req("anchor-first")
@needs("strace")
@pytest.mark.parametrize(
    ("effect", "durability", "synced"),
    [("once", "power", True), ("pure", "power", False), ("once", "process", False)],
)
def test_the_anchor_is_durable_before_an_effect_and_costs_a_pure_one_nothing(
    tmp_path: Path, effect: str, durability: str, synced: bool
) -> None:
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,write", "-o", str(trace)]
    command = [sys.executable, str(HERE / "charging.py"), str(tmp_path / "home")]
    command += [str(tmp_path / "ledger"), "no", effect, durability]
    done = subprocess.run([*strace, *command], capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("this machine allows no tracing")
    assert done.returncode == 0, done.stderr
    steps = re.findall(
        r"(\w+)\(\d+<[^>]*/(journal\.db-wal|journal\.db-anchor|ledger)>", trace.read_text()
    )
    before = " ".join(f"{name}:{call}" for call, name in steps).split("ledger:write")
    assert len(before) == charging.CHARGES + 1
    for gap in before[1:-1]:
        if synced:
            assert gap.rstrip().endswith("journal.db-wal:fdatasync journal.db-anchor:fsync")
        else:
            assert "journal.db-anchor:fsync" not in gap


def flip(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= bit
    path.write_bytes(data)


@pytest.mark.req("log-kept")
class TestWithoutAnAnchor:
    """As a world of an earlier release: nothing says how far it had come."""

    async def test_what_sqlite_would_drop_is_kept_and_told(
        self, world: tuple[Path, Path], caplog: pytest.LogCaptureFixture
    ) -> None:
        home, _ = world
        (home / "p" / "journal.db-anchor").unlink()
        log = home / "p" / "journal.db-wal"
        flip(log, 30_000, 4)
        damaged = log.read_bytes()
        caplog.set_level(logging.WARNING, "artificer.storage")
        async with World.open(charging.config(home)):
            pass
        copy = home / "p" / "journal.db-wal-kept-1"
        assert copy.read_bytes() == damaged
        assert copy.stat().st_mode & 0o777 == 0o600
        assert "a copy is kept in" in caplog.text
        (problem,) = await problems(home)
        assert str(copy) in problem and "later commits cannot be read" in problem
        async with World.open(charging.config(home)):
            pass  # the log is whole by now
        assert len(list((home / "p").glob("*-kept-*"))) == 1

    async def test_no_more_copies_than_there_may_be(self, world: tuple[Path, Path]) -> None:
        home, _ = world
        (home / "p" / "journal.db-anchor").unlink()
        for number in range(1, 9):
            (home / "p" / f"journal.db-wal-kept-{number}").write_text("kept")
        flip(home / "p" / "journal.db-wal", 30_000, 4)
        before = contents(home)
        with pytest.raises(TamperedError, match="8 copies"):
            async with World.open(charging.config(home)):
                pass
        assert contents(home) == before

    async def test_a_copy_for_which_there_is_no_space_is_not_kept(
        self, world: tuple[Path, Path]
    ) -> None:
        home, _ = world
        (home / "p" / "journal.db-anchor").unlink()
        flip(home / "p" / "journal.db-wal", 30_000, 4)
        before = contents(home)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        try:
            with pytest.raises(OperatorError, match="cannot be opened"):
                async with World.open(charging.config(home)):
                    pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert contents(home) == before


@pytest.mark.req("log-kept")
async def test_what_was_never_committed_is_not_kept(world: tuple[Path, Path]) -> None:
    """A full disk leaves such a rest after each attempt to write."""
    home, _ = world
    log = home / "p" / "journal.db-wal"
    data = bytearray(log.read_bytes())
    salts = data[16:24]
    frames = range(32, len(data), 24 + PAGE)
    end = next(at for at in frames if data[at + 8 : at + 16] != salts)
    data[end : end + 24 + PAGE] = data[32:40] + salts + b"torn" * 2 + b"x" * PAGE
    log.write_bytes(data)
    assert await problems(home) == []
    async with World.open(charging.config(home)):
        pass
    assert not list((home / "p").glob("*-kept-*"))
    assert await problems(home) == []


@pytest.mark.req("journal-lost")
class TestAJournalThatIsGone:
    @pytest.fixture(params=["missing", "empty"])
    def lost(self, request: pytest.FixtureRequest, world: tuple[Path, Path]) -> Iterator[Path]:
        home, _ = world
        path = home / "p" / "journal.db"
        path.unlink()
        if request.param == "empty":
            path.touch()
        yield home

    async def test_beside_its_log(self, lost: Path) -> None:
        await self.refused(lost, "its log journal.db-wal holds")

    async def test_beside_its_anchor(self, lost: Path) -> None:
        (lost / "p" / "journal.db-wal").unlink()
        await self.refused(lost, "its anchor records")

    async def test_beside_blobs(self, lost: Path) -> None:
        for name in ("journal.db-wal", "journal.db-anchor"):
            (lost / "p" / name).unlink()
        (lost / "p" / "blobs" / "sha256" / "ab").mkdir(parents=True)
        (lost / "p" / "blobs" / "sha256" / "ab" / ("c" * 62)).write_bytes(b"somebody's")
        await self.refused(lost, "is missing or empty, but")

    async def test_with_nothing_beside_it(self, lost: Path) -> None:
        for path in (lost / "p").glob("journal.db-*"):
            path.unlink()
        (lost / "p" / "snapshots.db").unlink(missing_ok=True)
        async with Archive.open(charging.config(lost)) as archive:
            assert await archive.runs() == []
        async with World.open(charging.config(lost)) as opened:
            assert await opened.archive.runs() == []

    async def refused(self, home: Path, what: str) -> None:
        before = contents(home)
        for opening in (Archive.open, World.open):
            with pytest.raises(TamperedError, match=what):
                async with opening(charging.config(home)):
                    pass
        assert contents(home) == before


@pytest.mark.req("read-only")
async def test_what_is_open_for_reading_writes_nothing(world: tuple[Path, Path]) -> None:
    home, _ = world
    before = contents(home)
    async with Archive.open(charging.config(home)) as archive:
        run = await archive.find("last")
        assert await archive.export_run(run)
        with pytest.raises(OperatorError, match="open for reading only"):
            await archive._storage.journal.acquire(run)
        with pytest.raises(OperatorError, match="open for reading only"):
            await archive._storage.signals.post(run, b"{}")
        with pytest.raises(OperatorError):
            archive._storage.blobs.put(b"x" * 40_000)
        with pytest.raises(OperatorError):
            archive._storage.versions.add("notes", 1, "sha256:" + "0" * 64)
    assert contents(home) == before

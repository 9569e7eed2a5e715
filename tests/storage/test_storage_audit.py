"""Every changed byte of a journal is found (invariant 12)."""

import asyncio
import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artificer.errors import ArtificerError, TamperedError
from artificer.ports import Head, Record, RunHead
from artificer.storage.audit import MAX_PROBLEMS
from artificer.storage.memory import MemoryJournal
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after
from artificer.values.canon import canonical, digest_of

pytestmark = pytest.mark.req("journal-audit")

RUNS = ("one", "two", "three")


async def write_journal(path: Path) -> None:
    """Three runs of four records each, interleaved, and two that were only acquired."""
    async with SqliteJournal(path, "process") as journal:
        leases = {run: await journal.acquire(run) for run in RUNS}
        heads = dict.fromkeys(RUNS, Head())
        for turn in range(4):
            for run in RUNS:
                records = records_after(heads[run], run, {"turn": turn, "text": "word " * 40})
                heads[run] = await journal.append(run, leases[run].epoch, heads[run], records)
        await journal.acquire("empty")
        await journal.acquire("later")


Contents = tuple[list[RunHead], dict[str, list[Record]]]


async def contents(journal: SqliteJournal) -> Contents:
    """All that the journal returns."""
    runs = await journal.runs()
    return runs, {row.run: await journal.read(row.run) for row in runs}


async def look(path: Path) -> tuple[list[str], Contents | None]:
    """Open and audit. Returns the problems, and the contents when there are none."""
    try:
        async with SqliteJournal(path, "process") as journal:
            problems = await journal.audit()
            return problems, None if problems else await contents(journal)
    except ArtificerError as error:
        return [str(error)], None


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("pristine") / "journal.db"
    asyncio.run(write_journal(path))
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, pristine: bytes) -> Path:
    path = tmp_path / "journal.db"
    path.write_bytes(pristine)
    return path


def tamper(path: Path, *statements: str) -> None:
    """Change the file behind the journal's back, with SQLite's own means."""
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


FORGED = canonical({"run": "two", "seq": 2, "prev": "", "payload": "forged"})

CHANGES = {
    "body": "UPDATE records SET body = CAST(body || ' ' AS BLOB) WHERE run = 'two' AND seq = 2",
    "hash": "UPDATE records SET hash = upper(hash) WHERE run = 'two' AND seq = 2",
    "body and hash": f"UPDATE records SET body = x'{FORGED.hex()}', hash = '{digest_of(FORGED)}' "
    "WHERE run = 'two' AND seq = 2",
    "run": "UPDATE records SET run = 'owt' WHERE run = 'two' AND seq = 2",
    "seq": "UPDATE records SET seq = 20 WHERE run = 'two' AND seq = 4",
    "world": "UPDATE records SET world = upper(world) WHERE run = 'two' AND seq = 2",
    "position": "UPDATE records SET position = 900 WHERE run = 'three' AND seq = 4",
    "first record": "DELETE FROM records WHERE position = 1",
    "record between": "DELETE FROM records WHERE run = 'two' AND seq = 2",
    "last record": "DELETE FROM records WHERE position = (SELECT max(position) FROM records)",
    "all records": "DELETE FROM records",
    "head's seq": "UPDATE runs SET seq = 3 WHERE run = 'two'",
    "head's hash": "UPDATE runs SET hash = upper(hash) WHERE run = 'two'",
    "epoch": "UPDATE runs SET epoch = 7 WHERE run = 'two'",
    "largest epoch": "UPDATE runs SET epoch = 9223372036854775807 WHERE run = 'two'",
    "run's name": "UPDATE runs SET run = 'owt' WHERE run = 'two'",
    "empty run's name": "UPDATE runs SET run = 'full' WHERE run = 'empty'",
    "run's number": "UPDATE runs SET number = 9 WHERE run = 'empty'",
    "run without records": "DELETE FROM runs WHERE run = 'empty'",
    "seal": "UPDATE runs SET seal = upper(seal) WHERE run = 'two'",
    "run without its records": "DELETE FROM runs WHERE run = 'two'",
    "tip's position": "UPDATE tip SET position = 3",
    "tip's world": "UPDATE tip SET world = upper(world)",
    "tip": "DELETE FROM tip",
    "release": "UPDATE meta SET value = '0.0.1' WHERE key = 'release'",
    "format": "UPDATE meta SET value = '0' WHERE key = 'format'",
    "more meta": "INSERT INTO meta VALUES ('more', '1')",
    "table": "CREATE TABLE more (x)",
    "column": "ALTER TABLE runs ADD COLUMN more TEXT",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM records; END",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_every_column_is_covered(path: Path, change: str) -> None:
    assert (await look(path))[0] == []
    tamper(path, CHANGES[change])
    problems, _ = await look(path)
    assert problems
    assert all(problem.endswith(".") for problem in problems)


async def test_a_run_removed_whole_is_found(path: Path) -> None:
    """Neither another run's chain nor the table of runs knows of it: the world chain does."""
    tamper(
        path,
        "DELETE FROM records WHERE run = 'two'",
        "DELETE FROM runs WHERE run = 'two'",
    )
    assert any("world" in problem for problem in (await look(path))[0])


async def write_two(path: Path) -> None:
    """Two runs, one after the other."""
    async with SqliteJournal(path) as journal:
        for run in ("first", "last"):
            lease = await journal.acquire(run)
            await journal.append(run, lease.epoch, Head(), records_after(Head(), run, 1, 2))


async def test_the_last_run_removed_whole_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await write_two(path)
    tamper(path, "DELETE FROM records WHERE run = 'last'", "DELETE FROM runs WHERE run = 'last'")
    assert any("ends at" in problem for problem in (await look(path))[0])


async def test_a_last_run_that_is_not_listed_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await write_two(path)
    tamper(path, "DELETE FROM runs WHERE run = 'last'")
    assert (await look(path))[0] == [
        "Run last has records up to seq 2, but is not in the table of runs."
    ]


async def test_another_order_is_found(path: Path) -> None:
    """Each run's chain stays whole when neighbours of two runs change places."""
    tamper(
        path,
        "UPDATE records SET position = 1000 WHERE position = 5",
        "UPDATE records SET position = 5 WHERE position = 6",
        "UPDATE records SET position = 6 WHERE position = 1000",
    )
    assert any("world chain" in problem for problem in (await look(path))[0])


async def test_problems_name_run_and_seq(path: Path) -> None:
    tamper(path, CHANGES["body"])
    assert (await look(path))[0] == ["Record 2 of run two has a body that does not match its hash."]


async def test_problems_are_bounded(path: Path) -> None:
    async with SqliteJournal(path) as journal:
        for number in range(MAX_PROBLEMS + 5):
            await journal.acquire(f"more-{number}")
    tamper(path, "UPDATE runs SET seal = ''")
    problems, _ = await look(path)
    assert len(problems) == MAX_PROBLEMS + 1
    assert "more" in problems[-1]


async def test_reading_a_changed_record_is_refused(path: Path) -> None:
    tamper(path, CHANGES["body"])
    async with SqliteJournal(path) as journal:
        with pytest.raises(TamperedError, match="Record 2 of run two"):
            await journal.read("two")
        assert len(await journal.read("one")) == 4


async def test_reading_past_a_missing_record_is_refused(path: Path) -> None:
    tamper(path, CHANGES["record between"])
    async with SqliteJournal(path) as journal:
        with pytest.raises(TamperedError, match="missing"):
            await journal.read("two")


async def test_a_journal_in_memory_can_be_audited() -> None:
    journal = MemoryJournal()
    lease = await journal.acquire("run")
    records = records_after(Head(), "run", 1, 2)
    await journal.append("run", lease.epoch, Head(), records)
    assert await journal.audit() == []


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(position=st.integers(1, 12), at=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_any_flipped_byte_of_a_body_is_found_and_named(
    path: Path, pristine: bytes, position: int, at: int, flip: int
) -> None:
    path.write_bytes(pristine)
    db = sqlite3.connect(path)
    run, seq, body = db.execute(
        "SELECT run, seq, body FROM records WHERE position = ?", (position,)
    ).fetchone()
    at %= len(body)
    body = body[:at] + bytes([body[at] ^ flip]) + body[at + 1 :]
    with db:
        db.execute("UPDATE records SET body = ? WHERE position = ?", (body, position))
    db.close()
    problems, _ = asyncio.run(look(path))
    assert problems == [f"Record {seq} of run {run} has a body that does not match its hash."]


def flip_survey(
    path: Path, pristine: bytes, offsets: list[tuple[int, int]], report: Callable[[int], None]
) -> int:
    """Flip each byte in turn. Returns how many flips were found.

    Not each is: SQLite's header has counters and reserved bytes, its pages have unused space.
    What must hold is that a flip which no audit finds changes nothing that the journal returns.
    """
    path.write_bytes(pristine)
    problems, before = asyncio.run(look(path))
    assert problems == []
    found = 0
    for at, flip in offsets:
        path.write_bytes(pristine[:at] + bytes([pristine[at] ^ flip]) + pristine[at + 1 :])
        for log in ("-wal", "-shm", "-journal"):
            Path(f"{path}{log}").unlink(missing_ok=True)
        problems, after = asyncio.run(look(path))
        found += bool(problems)
        if not problems and after != before:
            report(at)
    return found


def test_a_flipped_byte_of_the_file_is_found_or_changes_nothing(
    path: Path, pristine: bytes
) -> None:
    draw = random.Random(12)
    offsets = [(draw.randrange(len(pristine)), draw.randrange(1, 256)) for _ in range(150)]
    offsets += [(at, 255) for at in range(100)]  # SQLite's header, whole
    silent: list[int] = []
    found = flip_survey(path, pristine, offsets, silent.append)
    assert silent == []
    assert found > len(offsets) // 4


def test_the_bodies_are_readable_with_any_tool(path: Path) -> None:
    """The file is plain SQLite, and a body plain JSON."""
    db = sqlite3.connect(path)
    (body,) = db.execute("SELECT body FROM records WHERE run = 'two' AND seq = 3").fetchone()
    db.close()
    assert json.loads(body)["seq"] == 3

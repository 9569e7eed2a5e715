"""Signals, budgets and versions of workspaces follow from the chain, and a changed one is found."""

from __future__ import annotations

import asyncio
import sqlite3
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from artificer.errors import ArtificerError, TamperedError
from artificer.ports import Amount, Head, SpendingLimit
from artificer.storage.sqlite import SqliteJournal
from artificer.testing import budget_suite
from artificer.testing.budget_suite import settle
from artificer.testing.records import records_after
from artificer.values.canon import canonical, digest_of
from sampling import one_of

pytestmark = pytest.mark.req("chained-notes")

OLDER = Path(__file__).parents[1] / "worlds" / "0.1.0.tar.gz"
DENY, APPROVE = b'{"approved":false,"by":"alice"}', b'{"approved":true,"by":"alice"}'


async def reserve(journal: SqliteJournal, day: str, tokens: int, now: int = 0) -> int:
    amount = Amount(tokens, 10 * tokens)
    limit = SpendingLimit(tokens=99)
    number = await budget_suite.reserve(
        journal.budget, limit, need=amount, account=day, now=now, lasts=10
    )
    assert number is not None
    return number


async def write_world(path: Path) -> None:
    """Two runs with signals, a budget of two days, a workspace with a draft; each in use."""
    async with SqliteJournal(path, "process") as journal:
        for run in ("one", "two"):
            lease = await journal.acquire(run)
            await journal.append(run, lease.epoch, Head(), records_after(Head(), run, 1, 2))
            await journal.signals.post(run, DENY)
            await journal.signals.post(run, b"")
        await reserve(journal, "monday", 3)
        settled = await reserve(journal, "monday", 4)
        await settle(journal.budget, "monday", settled, Amount(2, 20))
        await reserve(journal, "tuesday", 5, now=50)  # what was reserved on monday has expired
        for number, digest in enumerate((digest_of(b"1"), digest_of(b"2")), 1):
            assert journal.versions.add("docs", number, digest)
        assert journal.versions.add("docs", 1, digest_of(b"draft"), "one")


def tamper(path: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement, values)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def anchors_open() -> int:
    """How many descriptors of anchors this process has."""
    links = (str(fd.resolve()) for fd in Path("/dev/fd").iterdir())
    return sum(link.endswith("-anchor") for link in links)


async def audit(path: Path) -> list[str]:
    try:
        async with SqliteJournal(path, "process") as journal:
            return await journal.audit()
    except ArtificerError as error:
        return [str(error)]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("world") / "journal.db"
    asyncio.run(write_world(path))
    return path.read_bytes()


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The journal of a world of release 0.1.0, after it was opened once."""
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(OLDER) as tar:
        tar.extractall(folder, filter="data")
    (path,) = folder.rglob("journal.db")

    async def use() -> None:
        async with SqliteJournal(path, "process") as journal:
            await journal.signals.post("waiting", DENY)

    asyncio.run(use())
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, ours: bytes) -> Path:
    path = tmp_path / "journal.db"
    path.write_bytes(ours)
    return path


def other_than(value: object) -> Iterator[object]:
    """Return a value that a cell could be changed to."""
    match value:
        case None:
            yield from (0, 2**40)
        case int():
            yield from (value + 1, value + 1000, 0, -1, None)
        case str():
            yield from (value + "0", value.upper(), "", "1")
        case bytes():
            yield from (value + b" ", value[:-1], b"", bytes(byte ^ 1 for byte in value))


TABLES = ("meta", "runs", "records", "tip", "notes", "letters", "spending", "versions")


@pytest.mark.parametrize("world", ["ours", "older"])
@pytest.mark.parametrize("table", TABLES)
async def test_every_cell_of_every_table_is_covered(
    tmp_path: Path, ours: bytes, older: bytes, world: str, table: str
) -> None:
    """A change of each cell, and each deleted row, of a sample of rows."""
    pristine = ours if world == "ours" else older
    path = tmp_path / "journal.db"
    path.write_bytes(pristine)
    assert await audit(path) == []
    silent = []
    for what, statement, values in changes(path, table):
        path.write_bytes(pristine)
        try:
            tamper(path, statement, values=values)
        except sqlite3.IntegrityError:
            continue  # the table refuses it
        if path.read_bytes() != pristine and not await audit(path):
            silent.append(what)
    assert silent == []


def changes(path: Path, table: str) -> list[tuple[str, str, tuple[object, ...]]]:
    """Statements that change a cell or delete a row, for the first, a middle and the last one."""
    db = sqlite3.connect(path)
    columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    rows = db.execute(f"SELECT * FROM {table}").fetchall()
    db.close()
    keys = [name for _, name, *_, key in columns if key] or [name for _, name, *_ in columns]
    where = " AND ".join(f"{key} IS ?" for key in keys)
    found = []
    for number, row in enumerate(dict.fromkeys((rows[0], rows[len(rows) // 2], rows[-1]))):
        named = {name: value for (_, name, *_), value in zip(columns, row, strict=True)}
        ours = tuple(named[key] for key in keys)
        found.append((f"delete {row}", f"DELETE FROM {table} WHERE {where}", ours))
        for name, value in named.items():
            others = {repr(o): o for o in other_than(value) if o != value}
            for other in one_of([*others.values()], purpose=(table, name, number)):
                change = f"UPDATE {table} SET {name} = ? WHERE {where}"
                found.append((f"{name} {value!r} to {other!r}", change, (other, *ours)))
    return found


SMUGGLED = {
    "signal": f"INSERT INTO letters VALUES (99, 'one', 3, x'{APPROVE.hex()}')",
    "total": "INSERT INTO spending VALUES ('friday', 0, 1, 1, NULL)",
    "reservation": "INSERT INTO spending VALUES ('monday', 9, -50, 0, 999)",
    "version": f"INSERT INTO versions VALUES ('', 'docs', 3, '{digest_of(b'3')}')",
    "workspace": f"INSERT INTO versions VALUES ('', 'more', 1, '{digest_of(b'3')}')",
    "note": "INSERT INTO notes SELECT 99, subject, hash, body, world FROM notes LIMIT 1",
}


@pytest.mark.parametrize("row", SMUGGLED)
async def test_a_row_that_no_note_tells_of_is_found(path: Path, row: str) -> None:
    tamper(path, SMUGGLED[row])
    assert await audit(path)


async def test_a_note_forged_with_its_hash_is_found(path: Path) -> None:
    """The table and the note agree then; the world's chain does not."""
    forged = canonical(
        {"note": "signal_posted", "run": "one", "n": 1, "body": digest_of(APPROVE), "at": 1}
    )
    tamper(path, "UPDATE letters SET body = ? WHERE run = 'one' AND n = 1", values=(APPROVE,))
    tamper(
        path,
        "UPDATE notes SET body = ?, hash = ? WHERE subject = 'signals one' AND "
        "position = (SELECT min(position) FROM notes WHERE subject = 'signals one')",
        values=(forged, digest_of(forged)),
    )
    async with SqliteJournal(path, "process") as journal:
        assert (await journal.signals.read("one"))[0] == (1, APPROVE)
        assert any("world chain" in problem for problem in await journal.audit())


async def test_all_that_is_noted_can_be_pruned(path: Path) -> None:
    """A tombstone accounts for empty signals, and only for those of its run."""
    async with SqliteJournal(path, "process") as journal:
        lease = await journal.acquire("one")
        tombstone = {"type": "RunPruned", "records": 2}
        body = {"run": "one", "seq": 3, "prev": lease.head.hash, "event": tombstone}
        record = records_after(lease.head, "one", 0)[0]
        body_bytes = canonical(body)
        record = type(record)("one", 3, digest_of(body_bytes), body_bytes)
        await journal.append("one", lease.epoch, lease.head, [record])
        await journal.erase("one", lease.epoch, 2)
        assert await journal.audit() == []
        assert await journal.signals.read("one") == [(1, b""), (2, b"")]
    tamper(path, "UPDATE letters SET body = x'' WHERE run = 'two'")
    assert await audit(path) == ["Signal 1 to run two is not what was posted."]


class TestNothingChangedIsActedOn:
    async def test_a_changed_signal_is_refused(self, path: Path) -> None:
        tamper(path, "UPDATE letters SET body = ? WHERE run = 'one' AND n = 1", values=(APPROVE,))
        async with SqliteJournal(path, "process") as journal:
            with pytest.raises(TamperedError, match="Signal 1 to run one"):
                await journal.signals.read("one")
            assert await journal.signals.read("one", 1) == [(2, b"")]

    @pytest.mark.parametrize("n", [1, 2])
    async def test_a_removed_signal_is_refused(self, path: Path, n: int) -> None:
        tamper(path, f"DELETE FROM letters WHERE run = 'one' AND n = {n}")
        async with SqliteJournal(path, "process") as journal:
            with pytest.raises(TamperedError, match=f"Signal {n} to run one"):
                await journal.signals.read("one")

    async def test_a_smuggled_signal_is_refused(self, path: Path) -> None:
        tamper(path, SMUGGLED["signal"])
        async with SqliteJournal(path, "process") as journal:
            with pytest.raises(TamperedError, match="Signal 3 to run one"):
                await journal.signals.read("one", 2)

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE versions SET digest = (SELECT digest FROM versions LIMIT 1) WHERE run = ''",
            "DELETE FROM versions WHERE run = '' AND number = 2",
            "DELETE FROM versions",
            SMUGGLED["version"],
        ],
    )
    async def test_a_changed_head_of_a_workspace_is_refused(self, path: Path, change: str) -> None:
        tamper(path, change)
        async with SqliteJournal(path, "process") as journal:
            with pytest.raises(TamperedError, match="'docs'"):
                journal.versions.head("docs")

    async def test_a_changed_older_version_is_refused(self, path: Path) -> None:
        digest = digest_of(b"forged")
        tamper(path, f"UPDATE versions SET digest = '{digest}' WHERE run = '' AND number = 1")
        async with SqliteJournal(path, "process") as journal:
            with pytest.raises(TamperedError, match="'docs'"):
                journal.versions.get("docs", 1)

    @pytest.mark.parametrize("change", ["UPDATE spending SET tokens = 0", "DELETE FROM spending"])
    async def test_a_changed_budget_is_not_spent_from(self, path: Path, change: str) -> None:
        tamper(path, f"{change} WHERE day = 'monday' AND n = 0")
        async with SqliteJournal(path, "process") as journal:
            for spend in (
                lambda: reserve(journal, "monday", 1, now=50),
                lambda: settle(journal.budget, "monday", 1, Amount(1, 1)),
            ):
                with pytest.raises(TamperedError, match="monday"):
                    await spend()
            assert await reserve(journal, "tuesday", 1, now=50)


class TestRebuilding:
    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE spending SET tokens = 0",
            "DELETE FROM spending",
            SMUGGLED["total"],
            SMUGGLED["reservation"],
            "UPDATE versions SET digest = 'x'",
            "DELETE FROM versions",
            SMUGGLED["workspace"],
            SMUGGLED["signal"],
        ],
    )
    async def test_what_follows_from_notes_is_put_back(self, path: Path, change: str) -> None:
        tamper(path, change)
        async with SqliteJournal(path, "process") as journal:
            assert await journal.audit()
            assert len(await journal.rebuild()) == 1
            assert await journal.audit() == []
            assert await journal.rebuild() == []
            assert journal.versions.head("docs") == (2, digest_of(b"2"))
            assert await reserve(journal, "monday", 1, now=50)

    async def test_what_a_signal_said_cannot_be(self, path: Path) -> None:
        tamper(path, "UPDATE letters SET body = x'00' WHERE run = 'one'")
        async with SqliteJournal(path, "process") as journal:
            assert await journal.rebuild() == []
            assert await journal.audit()

    async def test_nothing_is_put_back_from_a_broken_chain(self, path: Path) -> None:
        tamper(path, "DELETE FROM spending", "DELETE FROM notes WHERE subject = 'spent monday'")
        async with SqliteJournal(path, "process") as journal:
            assert await journal.rebuild() == []
            assert await journal.audit()

    async def test_names_of_workspaces_are_proven_too(self, path: Path) -> None:
        """A collection would else take the files of a workspace for nobody's."""
        async with SqliteJournal(path, "process") as journal:
            assert (journal.versions.names(), journal.versions.names("one")) == (["docs"], ["docs"])
        tamper(path, "DELETE FROM versions WHERE run = 'one'")
        async with SqliteJournal(path, "process") as journal:
            assert journal.versions.names() == ["docs"]
            with pytest.raises(TamperedError, match="'docs'"):
                journal.versions.names("one")


class TestAnOlderWorld:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        with tarfile.open(OLDER) as tar:
            tar.extractall(tmp_path, filter="data")
        (path,) = tmp_path.rglob("journal.db")
        return path.parent

    async def test_its_versions_are_taken_over_once(self, folder: Path) -> None:
        """A file that is put there later adds nothing."""
        async with SqliteJournal(folder / "journal.db", "process") as journal:
            head = journal.versions.head("notes")
            assert head is not None
        tamper(folder / "workspaces.db", "INSERT INTO versions VALUES ('', 'forged', 1, 'x')")
        async with SqliteJournal(folder / "journal.db", "process") as journal:
            assert journal.versions.names() == ["notes"]
            assert journal.versions.head("notes") == head
            assert await journal.audit() == []

    @pytest.mark.parametrize("damage", ["gap", "bytes"])
    async def test_damaged_versions_are_not_taken_over(self, folder: Path, damage: str) -> None:
        """Nothing has changed then, and a backup of them can be put in their place."""
        good = (folder / "workspaces.db").read_bytes()
        if damage == "gap":
            tamper(folder / "workspaces.db", "DELETE FROM versions WHERE number = 1")
        else:
            (folder / "workspaces.db").write_bytes(b"SQLite format 3\0" + b"rubbish " * 2000)
        for _ in range(2):
            with pytest.raises(TamperedError, match=r"workspaces\.db"):
                async with SqliteJournal(folder / "journal.db", "process"):
                    pass
        assert anchors_open() == 0
        (folder / "workspaces.db").write_bytes(good)
        async with SqliteJournal(folder / "journal.db", "process") as journal:
            assert journal.versions.names() == ["notes"]
            assert await journal.audit() == []

    async def test_a_journal_that_was_made_to_look_older_is_refused(self, path: Path) -> None:
        tamper(path, "UPDATE meta SET value = '1' WHERE key = 'format'")
        with pytest.raises(TamperedError, match="which its format does not allow"):
            async with SqliteJournal(path, "process"):
                pass

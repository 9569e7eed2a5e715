"""Promises of the SQLite journal beyond the port: files, processes, errors."""

import asyncio
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import preloaded
from artificer.errors import (
    ArtificerError,
    AuthorError,
    ConfigError,
    Fenced,
    OperatorError,
    TamperedError,
)
from artificer.ports import Durability, Head
from artificer.storage.sqlite import SqliteJournal
from artificer.storage.sqlite.anchor import Anchor, anchor_path, newest_mark
from artificer.storage.sqlite.commit_queue import BATCH
from artificer.storage.sqlite.database import PAGE
from artificer.storage.sqlite.log_space import FRAME, LogSpace
from artificer.storage.sqlite.opening import open_for_reading
from artificer.storage.sqlite.transaction import Transaction, commit
from artificer.system.tasks import finished
from artificer.testing.records import records_after
from sampling import sample

HERE = Path(__file__).parent


SEALED = [
    "epoch = 7",
    f"epoch = {2**53 + 1}",
    f"epoch = {2**63 - 1}",
    "epoch = -1",
    "number = 9",
    "seal = upper(seal)",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def content(path: Path) -> bytes:
    return path.read_bytes()


def edit(path: Path, script: str) -> None:
    """Change a journal as no journal does."""
    with sqlite3.connect(path) as db:
        db.executescript(script)
    db.close()


async def fill(journal: SqliteJournal, run: str, appends: int) -> Head:
    lease = await journal.acquire(run)
    head = lease.head
    for number in range(appends):
        head = await journal.append(run, lease.epoch, head, records_after(head, run, number))
    return head


def start(script: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, str(HERE / script), *arguments]
    return preloaded.Popen(command, stdout=subprocess.PIPE, text=True)


async def refusal(path: Path, **options: float) -> ArtificerError:
    """Open a journal that cannot be opened."""
    with pytest.raises(ArtificerError) as caught:
        async with SqliteJournal(path, **options):
            pass
    return caught.value


@pytest.mark.req("journal-sqlite-lifecycle")
class TestLifecycle:
    async def test_reopened_journal_has_everything(self, path: Path) -> None:
        async with SqliteJournal(path) as journal:
            head = await fill(journal, "run", 3)
            records = await journal.read("run")
        async with SqliteJournal(path) as journal:
            assert await journal.read("run") == records
            lease = await journal.acquire("run")
            assert lease.head == head
            assert lease.epoch == 2
            assert await journal.audit() == []

    async def test_directories_are_made(self, tmp_path: Path) -> None:
        async with SqliteJournal(tmp_path / "a" / "b" / "journal.db") as journal:
            assert await journal.runs() == []

    async def test_closing_twice_and_using_after(self, path: Path) -> None:
        journal = SqliteJournal(path)
        await journal.aclose()
        with pytest.raises(AuthorError, match="not open"):
            await journal.acquire("run")
        async with journal:
            lease = await journal.acquire("run")
            with pytest.raises(AuthorError, match="was already opened"):
                await journal.open()
        await asyncio.gather(journal.aclose(), journal.aclose())
        with pytest.raises(AuthorError, match="closed"):
            await journal.append("run", lease.epoch, Head(), records_after(Head(), "run", 1))
        with pytest.raises(AuthorError, match="closed"):
            await journal.read("run")

    async def test_what_waits_at_closing_is_written(self, path: Path) -> None:
        journal = SqliteJournal(path)
        await journal.open()
        leases = {f"run-{n}": await journal.acquire(f"run-{n}") for n in range(20)}
        tasks = [
            asyncio.ensure_future(
                journal.append(run, lease.epoch, Head(), records_after(Head(), run, 1))
            )
            for run, lease in leases.items()
        ]
        await asyncio.sleep(0)
        await journal.aclose()
        assert [head.seq for head in await asyncio.gather(*tasks)] == [1] * 20
        async with SqliteJournal(path) as reopened:
            assert [row.head.seq for row in await reopened.runs()] == [1] * 20
            assert await reopened.audit() == []

    async def test_clean_close_leaves_one_file(self, path: Path) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 1)
        left = sorted(file.name for file in path.parent.iterdir())
        assert left == ["journal.db", "journal.db-anchor"]


@pytest.mark.req("journal-designed-errors")
class TestFilesThatAreNoJournal:
    async def test_a_path_that_sqlite_cannot_open_is_named_with_its_length(
        self, tmp_path: Path
    ) -> None:
        folder = tmp_path
        while len(bytes(folder)) < 400:
            folder /= "d" * 60
        for size, works in ((504, True), (505, False)):
            path = folder / ("n" * (size - len(bytes(folder / "journal.db")) - 1)) / "journal.db"
            path.parent.mkdir(parents=True)
            assert len(bytes(path)) == size
            if works:
                async with SqliteJournal(path):
                    continue
            with pytest.raises(OperatorError, match="has 505 bytes; SQLite opens none") as raised:
                async with SqliteJournal(path):
                    pass
            assert raised.value.hint is not None and "shorter path" in raised.value.hint

    async def test_text(self, path: Path) -> None:
        write(path, b"Dear diary, " * 200)
        error = await refusal(path)
        assert isinstance(error, ConfigError)
        assert error.hint
        assert content(path) == b"Dear diary, " * 200

    async def test_another_programs_database(self, path: Path) -> None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE records (mine)")
        other.close()
        before = content(path)
        assert "not an Artificer journal" in str(await refusal(path))
        assert content(path) == before

    async def test_a_directory(self, tmp_path: Path) -> None:
        assert isinstance(await refusal(tmp_path), OperatorError)

    async def test_under_a_file(self, path: Path) -> None:
        write(path, b"file")
        assert isinstance(await refusal(path / "journal.db"), ConfigError)

    async def test_newer_format(self, path: Path) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 1)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE meta SET value = '3' WHERE key = 'format'")
            db.execute("UPDATE meta SET value = '9.1.0' WHERE key = 'release'")
        db.close()
        error = await refusal(path)
        assert isinstance(error, ConfigError)
        assert "9.1.0" in (error.hint or "")

    @pytest.mark.parametrize(
        "damage",
        [
            "DROP TABLE meta",
            "DROP TABLE tip",
            "DELETE FROM meta",
            "DELETE FROM tip",
            "UPDATE meta SET value = '0'",
            "INSERT INTO records VALUES (9, 'run', 2, '', x'', '')",
        ],
    )
    async def test_damaged_tables(self, path: Path, damage: str) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 1)
        edit(path, damage)
        with pytest.raises(TamperedError) as refused:
            async with SqliteJournal(path) as journal:
                await fill(journal, "run", 1)
        assert "`artificer verify`" in (refused.value.hint or "")

    @pytest.mark.req("tip-checked")
    @pytest.mark.parametrize(
        "change",
        [
            f"position = {2**63 - 1}",
            "position = position + 1",
            "position = position - 1",
            "position = 0",
            "world = 'sha256:' || substr(world, 9) || '0'",
        ],
    )
    async def test_an_end_that_was_changed_is_not_written_after(
        self, path: Path, change: str
    ) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 3)
        edit(path, f"UPDATE tip SET {change}")
        anchor = content(anchor_path(path))
        with pytest.raises(TamperedError, match="says that it ends at position") as refused:
            await SqliteJournal(path).open()
        assert "`artificer verify`" in (refused.value.hint or "")
        assert content(anchor_path(path)) == anchor, "it knows the true end"
        async with SqliteJournal(path, read_only=True) as journal:
            assert await journal.audit() != []

    @pytest.mark.req("seal-checked")
    @pytest.mark.parametrize("change", SEALED)
    async def test_a_run_whose_row_was_changed_is_not_acquired(
        self, path: Path, change: str
    ) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 3)
        edit(path, f"UPDATE runs SET {change}")
        async with SqliteJournal(path) as journal:
            before = await journal.audit()
            with pytest.raises(TamperedError, match="has a seal that does not match") as refused:
                await journal.acquire("run")
            assert "`artificer verify`" in (refused.value.hint or "")
            assert await journal.audit() == before != []

    @pytest.mark.parametrize(
        "change",
        [
            "ALTER TABLE records RENAME TO hidden; CREATE VIEW records AS WITH RECURSIVE n(x) AS "
            "(SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS position, '' AS run, x AS seq, "
            "'' AS hash, x'' AS body, '' AS world FROM n",
            f"UPDATE meta SET value = '{'9' * 5_000}' WHERE key = 'format'",
        ],
        ids=["endless view", "endless number"],
    )
    async def test_a_hostile_file_is_refused_before_its_tables_are_read(
        self, path: Path, change: str
    ) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 1)
        edit(path, change)
        with pytest.raises(TamperedError):
            open_for_reading(path, 1)
        assert isinstance(await refusal(path), TamperedError)

    async def test_no_trigger_acts_on_what_is_written(self, path: Path) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 1)
        with sqlite3.connect(path) as db:
            db.execute(
                "CREATE TRIGGER forget AFTER INSERT ON records BEGIN DELETE FROM letters; END"
            )
        db.close()
        open_for_reading(path, 1).close()
        error = await refusal(path)
        assert isinstance(error, TamperedError) and "forget" in error.message

    async def test_cut_off_file(self, path: Path) -> None:
        async with SqliteJournal(path) as journal:
            await fill(journal, "run", 40)
        write(path, content(path)[:9000])
        try:
            async with SqliteJournal(path) as journal:
                assert await journal.audit() != []
        except ArtificerError as error:
            assert isinstance(error, TamperedError)


@pytest.mark.req("journal-group-commit")
class TestGroupCommit:
    async def test_those_that_wait_share_a_commit_and_a_fenced_one_fails_alone(
        self, path: Path
    ) -> None:
        async with SqliteJournal(path, "process") as journal:
            leases = {f"run-{n}": await journal.acquire(f"run-{n}") for n in range(50)}
            await journal.acquire("run-7")
            before = commits_in_log(path)
            with sqlite3.connect(path, isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")  # the writer waits for this lock
                appends = [
                    asyncio.ensure_future(
                        journal.append(run, lease.epoch, Head(), records_after(Head(), run, 1, 2))
                    )
                    for run, lease in leases.items()
                ]
                await asyncio.sleep(0.05)
                other.execute("ROLLBACK")
            other.close()
            results = await asyncio.gather(*appends, return_exceptions=True)
            assert [type(result) for result in results] == [
                Fenced if run == "run-7" else Head for run in leases
            ]
            assert commits_in_log(path) - before <= 2
            heads = {row.run: row.head.seq for row in await journal.runs()}
            assert heads == {run: 0 if run == "run-7" else 2 for run in leases}
            assert await journal.audit() == []

    @pytest.mark.req("journal-commit-at-once")
    async def test_one_that_nothing_can_join_waits_for_nothing(self, path: Path) -> None:
        """With a second run, the first one's appends wait for a round of the event loop."""
        async with SqliteJournal(path, "process") as journal:
            lease = await journal.acquire("a")
            first = asyncio.ensure_future(
                journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
            )
            assert first.done(), "nobody else could have joined"
            await journal.acquire("b")
            records = records_after(first.result(), "a", 2)
            second = asyncio.ensure_future(
                journal.append("a", lease.epoch, first.result(), records)
            )
            assert not second.done()
            assert (await second).seq == 2

    async def test_older_runs_go_first_where_many_wait(self, path: Path) -> None:
        """So early runs end early, and nobody starves: some places go to what waits longest."""
        done: list[int] = []

        async def go(journal: SqliteJournal, number: int) -> None:
            run, head = f"run-{number}", Head()
            lease = await journal.acquire(run)
            for payload in range(4):
                records = records_after(head, run, payload)
                head = await journal.append(run, lease.epoch, head, records)
            done.append(number)

        async with SqliteJournal(path, "process") as journal:
            await asyncio.gather(*(go(journal, number) for number in range(8 * BATCH)))
            assert await journal.audit() == []
        first, last = done[: len(done) // 4], done[-len(done) // 4 :]
        assert sum(first) / len(first) < sum(last) / len(last) / 2

    async def test_a_cancelled_one_takes_no_neighbour_along(self, path: Path) -> None:
        async with SqliteJournal(path, "process") as journal:
            with sqlite3.connect(path, isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")
                first = asyncio.ensure_future(journal.acquire("one"))
                neighbours = [asyncio.ensure_future(journal.acquire(run)) for run in "abc"]
                await asyncio.sleep(0.02)
                first.cancel()
                await asyncio.sleep(0)
                other.execute("ROLLBACK")
            other.close()
            leases = await asyncio.wait_for(asyncio.gather(*neighbours), 10)
            assert [lease.epoch for lease in leases] == [1, 1, 1]
            assert first.cancelled()

    async def test_a_cancelled_append_comes_to_its_end(self, path: Path) -> None:
        """Its task is cancelled once it is known what was recorded."""
        async with SqliteJournal(path, "process") as journal:
            lease = await journal.acquire("one")
            records = records_after(Head(), "one", 1)
            with sqlite3.connect(path, isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")
                task = asyncio.ensure_future(
                    finished(journal.append("one", lease.epoch, Head(), records))
                )
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.sleep(0)
                assert not task.done()
                other.execute("ROLLBACK")
            other.close()
            await asyncio.wait_for(asyncio.wait([task]), 10)
            assert task.cancelled()
            assert await journal.read("one") == records

    async def test_a_damaged_run_stops_no_other(self, path: Path) -> None:
        async with SqliteJournal(path, "process") as journal:
            await fill(journal, "damaged", 1)
            edit(path, "INSERT INTO records VALUES (9, 'damaged', 2, '', x'', '')")
            results = await asyncio.gather(
                *(fill(journal, run, 1) for run in ("a", "damaged", "b")), return_exceptions=True
            )
            assert [type(result) for result in results] == [Head, TamperedError, Head]
            assert (await fill(journal, "a", 1)).seq == 2

    async def test_a_commit_that_fails_is_rolled_back_and_the_others_are_made_again(
        self, path: Path
    ) -> None:
        async with SqliteJournal(path):
            pass

        def damaged(transaction: Transaction) -> None:
            for _ in range(2):  # the second is refused by the table, and nothing is undone by it
                transaction.db.execute("INSERT INTO letters (run, n, body) VALUES ('two', 1, x'')")

        def whole(transaction: Transaction) -> int:
            return transaction.post("one", b"{}", at=1)

        anchor = Anchor(path, synced=False)
        db = sqlite3.connect(path, isolation_level=None)
        error, number = commit(db, path, [damaged, whole], anchor)
        assert isinstance(error, TamperedError) and str(path) in error.message
        assert number == 1 and not db.in_transaction
        assert db.execute("SELECT run FROM letters").fetchall() == [("one",)]
        assert (mark := newest_mark(path)) is not None, "the anchor knows what was made again"
        assert db.execute("SELECT position, world FROM tip").fetchone() == (
            mark.position,
            mark.world,
        )
        db.close()
        anchor.close()

    async def test_a_bug_of_one_is_undone_and_stops_no_other(self, path: Path) -> None:
        def broken(transaction: Transaction) -> None:
            transaction.post("one", b"{}", at=1)
            raise TypeError("a bug")

        async with SqliteJournal(path, "process") as journal:
            writer = journal._opened(journal._writer)
            results = await asyncio.gather(
                fill(journal, "a", 1),
                writer.perform(broken),
                fill(journal, "b", 1),
                return_exceptions=True,
            )
            assert [type(result) for result in results] == [Head, TypeError, Head]
            with pytest.raises(TypeError):
                await writer.perform(broken, at_once=True)
            assert (await fill(journal, "a", 1)).seq == 2
            assert await journal.signals.read("one") == []
            async with SqliteJournal(path, "process", busy_seconds=0.1) as other:
                assert (await fill(other, "c", 1)).seq == 1

    async def test_more_than_the_queue_holds(self, path: Path) -> None:
        async with SqliteJournal(path, "process") as journal:
            heads = await asyncio.gather(*(fill(journal, f"run-{n}", 1) for n in range(1500)))
            assert {head.seq for head in heads} == {1}
            assert await journal.audit() == []


def commits_in_log(path: Path) -> int:
    """Count the commit frames of a write-ahead log (https://sqlite.org/fileformat2.html#walformat).

    The frame that ends a transaction says how many pages the database has; all others say 0.
    """
    log = Path(f"{path}-wal").read_bytes()
    frame = 24 + int.from_bytes(log[8:12])
    return sum(log[at + 4 : at + 8] != b"\0\0\0\0" for at in range(32, len(log), frame))


@pytest.mark.req("journal-many-processes")
class TestManyProcesses:
    async def test_locked_file_is_waited_for_and_no_longer_than_asked(self, path: Path) -> None:
        async with SqliteJournal(path, busy_seconds=0.1) as journal:
            lease = await journal.acquire("run")
            records = records_after(Head(), "run", 1)
            with sqlite3.connect(path, isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(OperatorError, match="locked"):
                    await journal.append("run", lease.epoch, Head(), records)
                other.execute("ROLLBACK")
            other.close()
            assert (await journal.append("run", lease.epoch, Head(), records)).seq == 1

    async def test_two_processes_fight_for_a_run(self, path: Path) -> None:
        fighters = [start("fighter.py", str(path), "1.5") for _ in range(2)]
        lines = [fighter.communicate(timeout=60)[0].splitlines() for fighter in fighters]
        assert [fighter.returncode for fighter in fighters] == [0, 0]
        told = [line.split() for each in lines for line in each]
        epochs = [int(number) for word, number in told if word == "epoch"]
        appended = [int(number) for word, number in told if word == "appended"]
        async with SqliteJournal(path) as journal:
            (row,) = await journal.runs()
            assert sorted(epochs) == list(range(1, row.epoch + 1)), "no epoch was given twice"
            assert sorted(appended) == list(range(1, row.head.seq + 1)), "no seq was given twice"
            assert len(await journal.read("run")) == row.head.seq
            assert await journal.audit() == []
        for each in lines:
            mine = [int(line.split()[1]) for line in each if line.startswith("epoch")]
            assert mine == sorted(mine)

    async def test_many_journals_open_a_new_file_at_once(self, path: Path) -> None:
        journals = [SqliteJournal(path) for _ in range(8)]
        await asyncio.gather(*(journal.open() for journal in journals))
        await asyncio.gather(*(fill(j, f"run-{n}", 2) for n, j in enumerate(journals)))
        assert len(await journals[0].runs()) == 8
        assert await journals[0].audit() == []
        await asyncio.gather(*(journal.aclose() for journal in journals))


@pytest.mark.req("journal-crash")
class TestCrashes:
    @pytest.mark.parametrize("durability", ["power", "process"])
    async def test_killed_writer_loses_nothing_acknowledged(
        self, path: Path, durability: str
    ) -> None:
        child = start("appender.py", str(path), durability)
        assert child.stdout
        for _ in range(200):
            child.stdout.readline()
        child.kill()
        rest = child.communicate()[0].split()
        acknowledged = max(400, *map(int, rest)) if rest else 400
        async with SqliteJournal(path) as journal:
            head = (await journal.runs())[0].head
            assert acknowledged <= head.seq <= acknowledged + 2
            assert await journal.audit() == []
            await fill(journal, "run", 1)
            assert await journal.audit() == []

    async def test_full_disk_changes_nothing_and_a_retry_is_clean(self, path: Path) -> None:
        lines = start("filler.py", str(path)).communicate(timeout=60)[0].splitlines()
        assert lines == [
            "0 operator [0, 0]",
            "1 operator [0, 0]",
            "2 operator [0, 0]",
            "together OperatorError Head",
            "retried 1",
            "audit []",
        ]

    async def test_torn_log_leaves_a_prefix(self, path: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copy" / "journal.db"
        copy.parent.mkdir()
        log = Path(f"{path}-wal")
        async with SqliteJournal(path) as journal:
            for turn in range(12):
                await fill(journal, f"run-{turn % 3}", 1)
            written = {run: await journal.read(run) for run in ("run-0", "run-1", "run-2")}
            database, frames = content(path), content(log)
        counts = []
        cuts = range(0, len(frames) + 1, max(1, len(frames) // 97))
        for length in sample(cuts, 33, purpose="torn log"):
            write(copy, database)
            write(Path(f"{copy}-wal"), frames[:length])
            write(Path(f"{copy}-anchor"), b"")  # it would refuse what is torn off
            async with SqliteJournal(copy) as torn:
                assert await torn.audit() == []
                kept = {run: await torn.read(run) for run in written}
                assert all(kept[run] == written[run][: len(kept[run])] for run in written)
                lengths = [len(kept[run]) for run in written]
                assert lengths == sorted(lengths, reverse=True)
                assert lengths[0] - lengths[-1] <= 1
                counts.append(sum(lengths))
                await fill(torn, "run-0", 1)
                assert await torn.audit() == []
        assert counts == sorted(counts)
        assert counts[0] == 0
        assert counts[-1] >= 11


@pytest.mark.req("log-space")
class TestLogSpace:
    @pytest.mark.parametrize("durability", ["process", "power"])
    async def test_a_log_is_made_longer_by_many_commits_at_once(
        self, path: Path, durability: Durability
    ) -> None:
        lengths, log = [], Path(f"{path}-wal")
        async with SqliteJournal(path, durability) as journal:
            for turn in range(60):
                await fill(journal, f"run-{turn % 3}", 1)
                lengths.append(len(content(log)))
            assert await journal.audit() == []
        assert lengths == sorted(lengths)
        assert len(set(lengths)) <= 12

    async def test_two_that_write_by_turns_add_no_more_than_one(self, path: Path) -> None:
        log = Path(f"{path}-wal")
        async with SqliteJournal(path) as one, SqliteJournal(path) as other:
            for turn in range(40):
                await fill(one, f"one-{turn}", 1)
                await fill(other, f"other-{turn}", 1)
            used = len(content(log).rstrip(b"\0"))
            assert len(content(log)) <= 2 * used + FRAME
            assert await one.audit() == []

    async def test_a_log_is_copied_back_before_its_index_needs_another_table(
        self, path: Path
    ) -> None:
        log, lengths = Path(f"{path}-wal"), []
        async with SqliteJournal(path, "process") as journal:
            lease, head = await journal.acquire("run"), Head()
            for _ in range(24):
                records = records_after(head, "run", "x" * 2**20)
                head = await journal.append("run", lease.epoch, head, records)
                lengths.append(len(content(log)))
        assert lengths[-1] > 3 * 2**20, "no sooner than needed"
        assert max(lengths) <= 4_062 * (24 + PAGE) + 2 * 2**20, "with a commit, and with new space"

    def test_without_space_on_the_disk_it_is_left_as_it_is(self, path: Path) -> None:
        log = Path(f"{path}-wal")
        log.write_bytes(b"x" * 100)
        space = LogSpace(path)
        space.add()
        log.write_bytes(b"x" * 150)  # as a commit does
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150, before[1]))
        try:
            space.add()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert log.read_bytes() == b"x" * 150
        space.add()
        space.close()
        assert log.read_bytes() == b"x" * 150 + bytes(64 * 1024)

    def test_a_log_that_is_not_there_or_leads_away_is_left_alone(self, path: Path) -> None:
        other = path.with_name("other")
        other.write_bytes(b"x")
        space = LogSpace(path)
        space.add()
        Path(f"{path}-wal").symlink_to(other)
        space.add()
        other.write_bytes(b"xx")
        space.add()
        space.close()
        assert other.read_bytes() == b"xx"

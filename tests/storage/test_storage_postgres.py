"""A world in PostgreSQL: what every storage does, and what only servers do to one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest
from cut_line import cutting
from object_server import ObjectServer
from postgres_server import PostgresServer
from program_server import listening

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.core.signals import FollowUp
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.sweeper import Sweeper
from artificer.errors import (
    AuthorError,
    ConfigError,
    Fenced,
    NotFoundError,
    OperatorError,
    OwnedError,
    TamperedError,
)
from artificer.ports import (
    Amount,
    BlobStore,
    Head,
    Settlement,
    Signalled,
    Spending,
    Storage,
    StoragePlace,
)
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.reach import reachable
from artificer.storage.blobs.objects import ObjectStore
from artificer.storage.postgres import writer
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.locks import Lock, hold
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.postgres.writer import PostgresWriter
from artificer.testing.blob_suite import BlobSuite
from artificer.testing.records import records_after
from artificer.testing.storage_suite import StorageSuite
from artificer.values.canon import digest_of
from artificer.values.model import ModelReply
from artificer.wiring.storage import open_to_read
from artificer.world import World

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("storage-postgres")]

numbers = count()


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"world_{next(numbers)}")


async def opened(url: str, folder: Path, *, read_only: bool = False) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url, read_only=read_only))
    assert isinstance(storage, PostgresStorage)
    return storage


@pytest.fixture
async def storage(url: str, tmp_path: Path) -> AsyncIterator[PostgresStorage]:
    storage = await opened(url, tmp_path)
    yield storage
    await storage.aclose()


async def filled(storage: Storage) -> None:
    """Add a few of everything."""
    for run in ("a", "b"):
        lease = await storage.journal.acquire(run)
        first = records_after(Head(), run, 1, digest_of(b"small"))
        spending = Spending([Settlement("day", 0, Amount(1, 2))])
        await storage.journal.append(run, lease.epoch, Head(), first, [b"small"], spending)
    await storage.signals.post("a", b"signal")
    assert storage.versions.add("w", 1, digest_of(b"small"))


@pytest.mark.req("storage-port")
class TestPostgresStorage(StorageSuite):
    @pytest.fixture
    async def storage(self, url: str, tmp_path: Path) -> AsyncIterator[Storage]:
        storage = await opened(url, tmp_path)
        yield storage
        await storage.aclose()
        again = await opened(url, tmp_path)
        assert await again.journal.audit() == []
        await again.aclose()


async def test_who_reads_while_it_is_closed_learns_that(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    closing = asyncio.create_task(storage.aclose())
    with pytest.raises(AuthorError, match="is closed"):
        while True:
            await storage.journal.runs()
    await closing


@pytest.mark.req("storage-objects")
class TestObjectStore(BlobSuite):
    @pytest.fixture
    def store(self, object_server: ObjectServer) -> BlobStore:
        return ObjectStore(f"s3://worlds/{next(numbers)}")


@pytest.mark.req("storage-objects")
async def test_large_blobs_lie_in_an_object_store(
    url: str, tmp_path: Path, object_server: ObjectServer
) -> None:
    place = f"s3://worlds/{next(numbers)}"
    storage = await opened(f"{url}&blobs={place}", tmp_path)
    digest = storage.blobs.put(b"x" * 100_000)
    assert list(ObjectStore(place).digests()) == [digest]
    assert storage.blobs.get(digest) == b"x" * 100_000
    await storage.aclose()


@pytest.mark.req("storage-objects")
def test_an_object_store_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(0) as taken:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            monkeypatch.setenv(name, "test")
        store = ObjectStore("s3://worlds/away", patience_s=0.2)
    with pytest.raises(OperatorError, match="s3://worlds/away cannot be read or written"):
        store.put(b"lost")


@pytest.mark.req("storage-objects")
def test_a_changed_object_is_named(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path.as_uri())
    digest = store.put(b"as it was")
    (tmp_path / "sha256" / digest.removeprefix("sha256:")).write_bytes(b"changed")
    with pytest.raises(TamperedError, match=digest):
        store.get(digest)
    with pytest.raises(OperatorError, match="reading only"):
        ObjectStore(tmp_path.as_uri(), read_only=True).put(b"new")
    with pytest.raises(ConfigError, match="Blobs cannot be stored"):
        ObjectStore("nothing://here")


CHANGES = [
    "UPDATE records SET body = '{}' WHERE run = 'a' AND seq = 1",
    "UPDATE records SET body = '' WHERE run = 'a' AND seq = 1",
    "UPDATE records SET hash = 'sha256:0' WHERE run = 'a' AND seq = 2",
    "DELETE FROM records WHERE run = 'a' AND seq = 1",
    "DELETE FROM records WHERE run = 'b'",
    "UPDATE records SET run = 'c' WHERE run = 'b'",
    "INSERT INTO records VALUES ('c', 1, 'sha256:0', '{}', '3', 1)",
    "INSERT INTO records (run, seq, hash, body) VALUES ('c', 1, 'sha256:0', '{}')",
    "UPDATE runs SET epoch = 9 WHERE run = 'a'",
    "UPDATE runs SET seq = 1 WHERE run = 'a'",
    "DELETE FROM runs WHERE run = 'a'",
    "UPDATE chain SET world = 'sha256:0' WHERE position = 2",
    "DELETE FROM chain WHERE position = 1",
    "UPDATE chain SET position = position + 100",
    "UPDATE tip SET position = 3",
    "UPDATE tip SET xid = '99999999999'",
    "UPDATE tip SET entry = entry + 1",
    "DELETE FROM tip",
    "UPDATE notes SET body = '{}' WHERE subject = 'signals a'",
    "DELETE FROM notes WHERE subject = 'signals a'",
    "UPDATE signals SET body = 'another'",
    "DELETE FROM signals",
    "INSERT INTO signals VALUES (2, 'a', 2, 'smuggled')",
    "UPDATE spending SET tokens = 0",
    "UPDATE versions SET digest = 'sha256:0'",
    "UPDATE meta SET value = '0' WHERE key = 'release'",
    "INSERT INTO meta VALUES ('more', '')",
]


KEPT = "meta", "runs", "records", "notes", "chain", "tip", "signals", "spending", "versions"


async def test_an_audit_finds_every_change(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    await filled(storage)
    assert (await storage.journal.tip()).position == 8
    assert await storage.journal.audit() == []
    await storage.aclose()
    looking = await opened(url, tmp_path, read_only=True)
    with Database.parse(url, "power", read_only=False).connect() as db:
        for table in KEPT:
            db.execute(f"CREATE TABLE kept_{table} AS TABLE {table}".encode())
        for change in CHANGES:
            db.execute(change.encode())
            try:
                assert await looking.journal.audit(), change
            except TamperedError:
                assert "tip" in change
            for table in KEPT:
                back = f"TRUNCATE {table}; INSERT INTO {table} TABLE kept_{table}"
                db.execute(back.encode())
        assert await looking.journal.audit() == []
    await looking.aclose()


ENDS = [
    f"UPDATE tip SET position = {2**63 - 1}",
    "UPDATE tip SET position = position + 1",
    "UPDATE tip SET position = position - 1",
    "UPDATE tip SET position = 0, xid = '0', entry = 0",
    "UPDATE tip SET xid = '99999999999'",
    "UPDATE tip SET world = 'sha256:0'",
    "DELETE FROM tip",
    "DELETE FROM chain WHERE position = 8",
    "DELETE FROM chain",
    "DELETE FROM records WHERE entry IN (SELECT entry FROM chain WHERE position = 8);"
    "DELETE FROM notes WHERE entry IN (SELECT entry FROM chain WHERE position = 8)",
]


@pytest.mark.req("tip-checked")
async def test_an_end_that_was_changed_is_not_written_after(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    await filled(storage)
    assert (await storage.journal.tip()).position == 8
    await storage.aclose()
    with Database.parse(url, "power", read_only=False).connect() as db:
        for table in KEPT:
            db.execute(f"CREATE TABLE kept_{table} AS TABLE {table}".encode())
        for change in ENDS:
            db.execute(change.encode())
            before = [rows(db, table) for table in KEPT]
            with pytest.raises(TamperedError, match="world chain") as refused:
                await opened(url, tmp_path)
            assert "`artificer verify`" in (refused.value.hint or "")
            assert [rows(db, table) for table in KEPT] == before, change
            for table in KEPT:
                back = f"TRUNCATE {table}; INSERT INTO {table} TABLE kept_{table}"
                db.execute(back.encode())
    storage = await opened(url, tmp_path)
    assert await storage.journal.audit() == []
    await storage.aclose()


@pytest.mark.req("postgres-lock-timeout")
async def test_who_waits_too_long_for_a_lock_is_told_so(url: str, tmp_path: Path) -> None:
    """A process that stands still in the middle of a commit holds up all others."""
    storage = await opened(f"{url}&options=-c%20lock_timeout%3D200", tmp_path)
    await filled(storage)
    with Database.parse(url, "power", read_only=False).connect() as db, db.transaction():
        hold(db, Lock.NOTES, url.rpartition("schema=")[2])
        with pytest.raises(OperatorError, match="holds a lock of this world") as refused:
            await storage.signals.post("a", b"more")
        assert "pg_stat_activity" in (refused.value.hint or "")
    assert await storage.signals.post("a", b"more") > 0
    assert await storage.journal.audit() == []
    await storage.aclose()


@pytest.mark.req("tip-watched")
@pytest.mark.parametrize("change", ENDS)
async def test_an_end_that_is_changed_meanwhile_is_noticed(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(writer, "CHAIN_SECONDS", 0.01)
    storage = await opened(url, tmp_path)
    await filled(storage)
    with Database.parse(url, "power", read_only=False).connect() as db:
        async with asyncio.timeout(30):
            while rows(db, "tip")[0][1] != 8:  # a record joins when nothing older is under way
                await asyncio.sleep(0.01)
                await storage.journal.tip()
        db.execute(change.encode())
        end = [rows(db, table) for table in ("chain", "tip")]
        with pytest.raises(TamperedError, match="world chain"):
            for _ in range(500):
                await storage.signals.post("a", b"more")
                await asyncio.sleep(0.01)
        lease = storage.journal.acquire("b")
        with pytest.raises(TamperedError, match="world chain"):
            await lease
        with suppress(TamperedError):
            assert await storage.journal.audit() != []
        await storage.aclose()
        assert [rows(db, table) for table in ("chain", "tip")] == end


def rows(db: psycopg.Connection, table: str) -> list[tuple[object, ...]]:
    return db.execute(f"TABLE {table}".encode()).fetchall()


@pytest.mark.req("seal-checked")
@pytest.mark.parametrize("change", ["epoch = 9", f"epoch = {2**63 - 1}", "seal = 'sha256:0'"])
async def test_a_run_whose_row_was_changed_is_not_acquired(
    url: str, tmp_path: Path, change: str
) -> None:
    storage = await opened(url, tmp_path)
    await filled(storage)
    with Database.parse(url, "power", read_only=False).connect() as db:
        db.execute(f"UPDATE runs SET {change} WHERE run = 'a'".encode())
    before = await storage.journal.audit()
    with pytest.raises(TamperedError, match="has a seal that does not match"):
        await storage.journal.acquire("a")
    await storage.journal.acquire("b")
    assert await storage.journal.audit() == before != []
    await storage.aclose()


async def test_an_emptied_record_was_not_pruned(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    await filled(storage)
    with Database.parse(url, "power", read_only=False).connect() as db:
        db.execute("UPDATE records SET body = '' WHERE run = 'a' AND seq = 1")
    with pytest.raises(TamperedError, match="Record 1 of run a has lost its contents"):
        await storage.journal.read("a")
    await storage.aclose()


async def test_tables_are_put_back_as_the_notes_say(url: str, tmp_path: Path) -> None:
    storage = await opened(url, tmp_path)
    await filled(storage)
    with Database.parse(url, "power", read_only=False).connect() as db:
        db.execute("UPDATE spending SET tokens = 0")
        db.execute("DELETE FROM versions")
        db.execute("INSERT INTO signals VALUES (2, 'a', 2, 'smuggled')")
    with pytest.raises(TamperedError, match="costs of day"):
        await storage.budget.settle([Settlement("day", 0, Amount(1, 1))])
    with pytest.raises(TamperedError, match="versions of 'w'"):
        storage.versions.head("w")
    assert len(await storage.journal.rebuild()) == 3
    assert await storage.journal.audit() == []
    await storage.aclose()


class TestTheChain:
    async def test_processes_that_write_at_once_make_one_chain(
        self, url: str, tmp_path: Path
    ) -> None:
        storages = [await opened(url, tmp_path / str(n)) for n in range(3)]

        async def write(storage: Storage, run: str) -> None:
            lease = await storage.journal.acquire(run)
            head = Head()
            for n in range(8):
                spending = Spending([Settlement("day", 0, Amount(1, 1))] if n % 2 else [])
                records = records_after(head, run, n, n)
                head = await storage.journal.append(run, lease.epoch, head, records, (), spending)
            await storage.signals.post(run, b"done")

        work = [(storage, f"{n}-{i}") for n, storage in enumerate(storages) for i in range(5)]
        await asyncio.gather(*(write(storage, run) for storage, run in work))
        tips = [await storage.journal.tip() for storage in storages]
        assert tips == [tips[0]] * 3 and tips[0].position == 15 * (16 + 4 + 1)
        placed = await storages[0].journal.placed(0, tips[0].position)
        for _, run in work:
            assert [p.record.seq for p in placed if p.record.run == run] == list(range(1, 17))
        assert await storages[0].journal.world_at(tips[0].position) == tips[0].world
        assert await storages[0].journal.audit() == []
        assert (await storages[0].budget.spent("day", 0)).settled == Amount(60, 60)
        for storage in storages:
            await storage.aclose()

    async def test_what_may_still_be_committed_before_is_waited_for(
        self, url: str, storage: PostgresStorage
    ) -> None:
        await filled(storage)
        before = await storage.journal.tip()
        with Database.parse(url, "power", read_only=False).connect() as db:
            db.execute("BEGIN")
            db.execute("INSERT INTO blobs VALUES ('held', '')")
            lease = await storage.journal.acquire("c")
            await storage.journal.append("c", lease.epoch, Head(), records_after(Head(), "c", 1))
            assert await storage.journal.tip() == before
            assert await storage.journal.audit() == []
            assert not await storage.journal.forget([], before.position)
            db.execute("ROLLBACK")
        assert (await storage.journal.tip()).position == before.position + 1

    async def test_a_reader_sees_how_far_it_has_come(self, url: str, tmp_path: Path) -> None:
        storage = await opened(url, tmp_path)
        await filled(storage)
        reader = await opened(url, tmp_path, read_only=True)
        assert await reader.journal.audit() == []
        await storage.aclose()
        assert (await reader.journal.tip()).position == 8
        with pytest.raises(OperatorError, match="reading only"):
            await reader.journal.acquire("c")
        with pytest.raises(OperatorError, match="reading only"):
            reader.blobs.put(b"x" * 100_000)
        with pytest.raises(OperatorError, match="reading only"):
            reader.versions.add("w", 2, digest_of(b"b"))
        await reader.aclose()


class TestLostServers:
    async def test_a_server_that_is_killed_loses_nothing(
        self, url: str, tmp_path: Path, postgres_server: PostgresServer
    ) -> None:
        storage = await opened(url, tmp_path)
        lease = await storage.journal.acquire("a")
        head = await storage.journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 1))
        await asyncio.to_thread(postgres_server.stop)
        waiting = storage.journal.append("a", lease.epoch, head, records_after(head, "a", 2))
        await asyncio.to_thread(postgres_server.start)
        assert (await waiting).seq == 2
        assert [record.seq for record in await storage.journal.read("a")] == [1, 2]
        assert await storage.journal.audit() == []
        await storage.aclose()

    async def test_a_commit_whose_answer_is_lost_is_done_once(
        self, url: str, tmp_path: Path, postgres_server: PostgresServer
    ) -> None:
        """The transaction's number tells whether it was committed: nothing is appended twice."""
        await (await opened(url, tmp_path)).aclose()
        with cutting(postgres_server) as line:
            storage = await opened(line.url(url), tmp_path)
            lease = await storage.journal.acquire("a")
            line.cut_after_commits = 1
            records = records_after(Head(), "a", 1)
            head = await storage.journal.append("a", lease.epoch, Head(), records)
            assert line.cut_after_commits == 0
            line.cut_before_commits = 1
            more = records_after(head, "a", 2)
            await storage.journal.append("a", lease.epoch, head, more)
            assert line.cut_before_commits == 0
            assert await storage.journal.read("a") == records + more
            await storage.aclose()

    async def test_a_server_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(OperatorError, match="cannot be reached"):
            await opened(f"postgresql://a@/b?host={tmp_path}", tmp_path)
        with pytest.raises(ConfigError, match="cannot be read"):
            await opened("postgresql://a@/b?nonsense=1", tmp_path)

    async def test_what_is_cancelled_holds_up_nobody(self, storage: PostgresStorage) -> None:
        tasks = [asyncio.ensure_future(storage.journal.acquire(f"r{n}")) for n in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.wait(tasks)
        assert (await storage.journal.acquire("r0")).epoch in (1, 2)


class TestUsers:
    async def test_a_user_needs_no_more_than_the_guide_says(
        self, url: str, tmp_path: Path, postgres_server: PostgresServer
    ) -> None:
        """The statements of docs/guides/postgresql.md, as they stand there."""
        await (await opened(url, tmp_path)).aclose()
        database = Database.parse(url, "power", read_only=False)
        with psycopg.connect(database.conninfo, autocommit=True) as db:
            for statement in guide_statements(database.schema):
                db.execute(statement.encode())
        storage = await opened(url.replace("artificer@", "worker@"), tmp_path)
        await filled(storage)
        assert await storage.journal.audit() == []
        lease = await storage.journal.acquire("a")
        await storage.journal.erase("a", lease.epoch, 1)
        tip = await storage.journal.tip()
        assert await storage.journal.forget([digest_of(b"small")], tip.position)
        with pytest.raises(OperatorError, match="denies this user"):
            await storage.journal._writer.perform(lambda work: work.db.execute("DROP TABLE runs"))
        await storage.aclose()

    async def test_a_schema_that_holds_something_else_is_left_alone(
        self, url: str, tmp_path: Path
    ) -> None:
        database = Database.parse(url, "power", read_only=False)
        with database.connect() as db:
            db.execute(f'CREATE SCHEMA "{database.schema}"'.encode())
            db.execute("CREATE TABLE others (one int)")
        with pytest.raises(ConfigError, match="contains tables, but no world"):
            await opened(url, tmp_path)

    async def test_a_world_of_a_newer_format_is_refused(self, url: str, tmp_path: Path) -> None:
        await (await opened(url, tmp_path)).aclose()
        with Database.parse(url, "power", read_only=False).connect() as db:
            db.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
        with pytest.raises(ConfigError, match="format 99"):
            await opened(url, tmp_path)


def guide_statements(schema: str) -> Iterator[str]:
    text = (Path(__file__).parents[2] / "docs/guides/postgresql.md").read_text("utf-8")
    block = text.partition("```sql\n")[2].partition("```")[0]
    for statement in filter(None, map(str.strip, block.split(";"))):
        yield re.sub(r"\bartificer\b", f'"{schema}"', statement)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_world_in_postgresql_is_a_world(url: str, tmp_path: Path) -> None:
    """Runs, replays, searches, forks, and is verified, as anywhere else."""
    config = Config(home=tmp_path, project="p", storage=url)
    with pytest.raises(NotFoundError, match="no world at the URL"):
        await open_to_read(config.replace(storage=url.replace("postgresql:", "postgres:")))
    script = [reply(call("add", a=1, b=2)), say("Three. " + "x" * 40_000)]
    async with World.open(config) as world:
        agent = Agent(ScriptedProvider(script), kind="chat", tools=[add])
        run = await world.run("Add.", agent, run_id="r")
        assert run.status == "completed"
        assert (await world.archive.replay("r")).identical
        assert (await world.archive.verify()).sound
        assert [hit.run for hit in (await world.archive.search("three"))] == ["r"]


def test_a_writer_of_a_read_only_world_writes_nothing() -> None:
    async def refused() -> None:
        writer = PostgresWriter(Database("", read_only=True))
        with pytest.raises(OperatorError, match="reading only"):
            await writer.perform(lambda work: None)

    asyncio.run(refused())


async def test_a_run_that_is_taken_over_from_another_machine_repeats_nothing(
    url: str, tmp_path: Path
) -> None:
    """Its former owner may live: what it had begun is ambiguous, and what it records is refused."""
    started, done = asyncio.Event(), asyncio.Event()

    @tool
    async def pay(to: str) -> str:
        """Pay somebody."""
        started.set()
        await done.wait()
        return "paid"

    def agent(*script: ModelReply) -> Agent:
        return Agent(ScriptedProvider(list(script)), kind="chat", tools=[pay])

    homes = [
        Config(home=tmp_path / name, project="p", storage=url, lease_seconds=3600)
        for name in ("1", "2")
    ]
    async with World.open(homes[0]) as here, World.open(homes[1]) as there:
        paying = agent(reply(call("pay", to="them")), say("Paid."))
        losing = asyncio.create_task(here.run("Pay.", paying, run_id="r"))
        await started.wait()
        with pytest.raises(OwnedError, match="its lease ends at"):
            await there.resume("r", agent(say("Was it paid?")))
        taken = await there.resume("r", agent(say("Was it paid?")), take_over=True)
        assert [doubt.tool for doubt in taken.state.doubts] == ["pay"]
        done.set()
        with pytest.raises(Fenced):
            await losing
        assert (await there.archive.replay("r")).identical


@pytest.mark.req("sweeper")
async def test_a_journal_in_postgresql_knows_which_runs_were_imported(
    url: str, tmp_path: Path
) -> None:
    """Workers leave them alone, and a blob that only a signal cites is kept."""
    agent = Agent(ScriptedProvider([]), kind="chat")
    origin = World.in_memory()
    run = await origin.submit("Delete everything.", agent, run_id="r")
    config = Config(home=tmp_path, project="p", storage=url)
    async with World.open(config) as world:
        journal = world.storage.journal
        assert isinstance(journal, Signalled)
        await world.import_run(await origin.archive.export_run(run))
        assert await journal.unsigned(run) == (await world.storage.journal.runs())[0].head.seq
        dispatcher = LocalDispatcher()
        await Sweeper(world, dispatcher).look_at_all()
        assert not dispatcher.counts()
        picture = world.storage.blobs.put(b"x")
        await world.storage.signals.post(run, FollowUp(text=picture).canonical())
        assert await journal.signals.read(run) == await world.storage.signals.read(run)
        stored = world.storage
        assert picture in await reachable(journal, stored.blobs, stored.versions)

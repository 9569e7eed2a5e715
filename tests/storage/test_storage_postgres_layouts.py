"""Tables of an older layout: they get what they lack when the world is opened, and lose nothing."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

import psycopg
import pytest
from postgres_server import PostgresServer

from artificer.errors import ConfigError, OperatorError
from artificer.ports import UNCLAIMED, Head, LeasedOwner, OwnerHost, StoragePlace
from artificer.storage.chain import FORMAT, genesis
from artificer.storage.postgres.append_statement import Append
from artificer.storage.postgres.committing import UnitOfWork
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.postgres.tables import LAYOUT
from artificer.storage.postgres.writer import WritingLine
from artificer.testing.records import records_after

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("postgres-layouts")]

numbers = count()

LAYOUT_1 = Path(__file__).with_name("layout_1.sql").read_text(encoding="utf-8")
US = LeasedOwner("us", OwnerHost("machine", "boot", "name"), "process 1")


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    """A world with one record, in tables as the first layout had them."""
    url = postgres_server.url(f"layouts_{next(numbers)}")
    database = Database.parse(url, "power", read_only=False)
    with psycopg.connect(database.conninfo, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {database.schema}; SET search_path = {database.schema}".encode())
        db.execute(LAYOUT_1.encode())
        db.execute("INSERT INTO meta VALUES ('format', %s), ('release', 'old')", (str(FORMAT),))
        db.execute("INSERT INTO tip VALUES (1, 0, %s, '0', 0)", (genesis(FORMAT, "old"),))
    line = WritingLine(database)
    records = records_after(Head(), "a", 1)
    head = Head(seq=1, hash=records[0].hash)
    line.commit(
        [
            UnitOfWork(lambda work: work.acquire("a", UNCLAIMED)),
            UnitOfWork(lambda work: work.append(Append("a", 1, Head(), records), head)),
        ]
    )
    line.close()
    return url


async def opened(url: str, folder: Path, *, read_only: bool = False) -> PostgresStorage:
    storage = await POSTGRES.open(StoragePlace(folder, url, read_only=read_only))
    assert isinstance(storage, PostgresStorage)
    return storage


async def test_an_older_layout_is_brought_up_to_date_once(url: str, tmp_path: Path) -> None:
    """By any number of processes at once; what only reads reads it before and after."""
    before = await opened(url, tmp_path / "reader", read_only=True)
    assert await before.journal.audit() == []
    storages = await asyncio.gather(*(opened(url, tmp_path / str(n)) for n in range(3)))
    first = storages[0]
    assert [record.seq for record in await first.journal.read("a")] == [1]
    leases = first.owner_leases
    assert not leases.renew(US, 60) and leases.renew(US, 60)
    assert await first.journal.audit() == await before.journal.audit() == []
    leases.close()
    first.blobs.put(b"apart from records")
    for storage in (before, *storages):
        await storage.aclose()


async def test_a_new_world_and_one_that_was_brought_up_to_date_have_the_same_tables(
    url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    new = postgres_server.url(f"layouts_{next(numbers)}")
    found = []
    for one in (url, new):
        await (await opened(one, tmp_path)).aclose()
        database = Database.parse(one, "power", read_only=True)
        with database.connect() as db:
            columns = (
                "SELECT table_name::text, column_name::text, data_type, is_nullable, "
                "replace(column_default, %(schema)s, '') FROM information_schema.columns "
                "WHERE table_schema = %(schema)s UNION ALL SELECT tablename::text, "
                "indexname::text, replace(indexdef, %(schema)s, ''), '', '' FROM pg_indexes "
                "WHERE schemaname = %(schema)s ORDER BY 1, 2"
            )
            found.append(db.execute(columns.encode(), {"schema": database.schema}).fetchall())
    assert found[0] == found[1] and len(found[0]) > 50


async def test_a_user_who_may_not_change_tables_is_told_who_may(
    url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """Afterwards that user may use the new tables as it may the others."""
    database = Database.parse(url, "power", read_only=False)
    with psycopg.connect(database.conninfo, autocommit=True) as db:
        user = f"user_{database.schema}"
        rights = f"""
            CREATE ROLE {user} LOGIN; GRANT USAGE ON SCHEMA {database.schema} TO {user};
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {database.schema} TO {user}
        """
        db.execute(rights.encode())
    theirs = url.replace("artificer@", f"{user}@")
    with pytest.raises(OperatorError, match="they have layout 1, and need") as refused:
        await opened(theirs, tmp_path)
    assert "As its owner" in str(refused.value.hint)
    await (await opened(url, tmp_path)).aclose()
    storage = await opened(theirs, tmp_path)
    leases = storage.owner_leases
    leases.renew(US, 60)
    leases.end("us", dead=False)
    assert leases.find("us") is None
    leases.close()
    await storage.aclose()


async def test_a_newer_layout_is_left_alone(url: str, tmp_path: Path) -> None:
    await (await opened(url, tmp_path)).aclose()
    with Database.parse(url, "power", read_only=False).connect() as db:
        db.execute("UPDATE meta SET value = %s WHERE key = 'layout'", (str(LAYOUT + 1),))
    with pytest.raises(ConfigError, match=f"layout {LAYOUT + 1}"):
        await opened(url, tmp_path)

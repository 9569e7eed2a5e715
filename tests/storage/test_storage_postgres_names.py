"""URLs, schemas and names that are hard for PostgreSQL: none leaks, and none is another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from postgres_server import PostgresServer

from artificer.errors import ConfigError
from artificer.ports import UNCLAIMED, StoragePlace
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.kind import POSTGRES
from artificer.storage.postgres.storage import PostgresStorage
from artificer.storage.postgres.transaction import PostgresTransaction
from artificer.values.canon import digest_of

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("postgres-names")]

numbers = count()


@pytest.fixture
async def storage(
    postgres_server: PostgresServer, tmp_path: Path
) -> AsyncIterator[PostgresStorage]:
    url = postgres_server.url(f"names_{next(numbers)}")
    storage = await POSTGRES.open(StoragePlace(tmp_path, url))
    assert isinstance(storage, PostgresStorage)
    yield storage
    await storage.aclose()


@pytest.mark.parametrize(
    "rest",
    [
        "zebra%zzquokka@h/db",
        "zebra%00quokka@h/db",
        "zebra[quokka@h/db",
        "zebra?quokka@h/db",
        "zebra/quokka@h/db",
        "zebra@quokka@h/db",
        "quokka@h/db?schema=pg_x",
    ],
)
def test_no_error_about_a_url_holds_a_part_of_its_password(rest: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Database.parse(f"postgresql://ada:{rest}", "power", read_only=False)
    error: BaseException | None = refused.value
    while error is not None:
        said = f"{error} {getattr(error, 'hint', '')}"
        assert not any(part in said for part in ("zebra", "quokka"))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.req("postgres-url-parameters")
def test_a_parameter_of_a_url_is_what_libpq_reads() -> None:
    url = "postgresql://h/db?options=-c%20lock_timeout%3D5s&schema=s&passfile=/a+b%2F%C3%A9%26c"
    database = Database.parse(url, "power", read_only=False)
    found = psycopg.conninfo.conninfo_to_dict(database.conninfo)
    assert found["options"] == "-c lock_timeout=5s"
    assert found["passfile"] == "/a+b/é&c"
    assert database.schema == "s"


@pytest.mark.parametrize(
    "schema", ["", "x" * 64, "é" * 32, "a%00b", "a%5Cb", "a%0Ab", "%24user", "pg_temp"]
)
def test_a_schema_that_would_be_found_under_another_name_is_refused(schema: str) -> None:
    """PostgreSQL cuts long names, and reads "$user" as the name of the user."""
    with pytest.raises(ConfigError, match="cannot hold a world"):
        Database.parse(f"postgresql://h/db?schema={schema}", "power", read_only=False)


def test_any_other_schema_and_an_escaped_password_are_accepted() -> None:
    url = f"postgresql://ada:hun%40ter@h:5432/db?schema={'é' * 31}"
    assert Database.parse(url, "power", read_only=False).schema == "é" * 31


@pytest.mark.parametrize("name", ["a\\b", "a\0b", "a\\0b", "\\", "\\\\0", "'; DROP TABLE runs; --"])
async def test_a_name_is_read_as_it_was_written(storage: PostgresStorage, name: str) -> None:
    await storage.journal.acquire(name)
    assert [head.run for head in await storage.journal.runs()] == [name]
    assert storage.versions.add(name, 1, digest_of(b"x"), name)
    assert storage.versions.names(name) == [name]
    assert storage.versions.head(name, name) == (1, digest_of(b"x"))
    assert await storage.journal.audit() == []


async def test_a_bug_in_a_unit_of_work_is_raised_and_holds_up_nobody(
    storage: PostgresStorage,
) -> None:
    def broken(work: PostgresTransaction) -> float:
        work.acquire("b", UNCLAIMED)
        return 1 / 0

    async with asyncio.timeout(60):
        with pytest.raises(ZeroDivisionError):
            await storage.journal._writer.perform(broken)
        assert (await storage.journal.acquire("a")).epoch == 1
    assert [head.run for head in await storage.journal.runs()] == ["a"]


async def test_a_database_that_does_not_know_its_characters_is_refused(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.url("names")
    with Database.parse(url, "power", read_only=False).connect() as db:
        db.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(ConfigError, match="SQL_ASCII; a world needs UTF8"):
        await POSTGRES.open(StoragePlace(tmp_path, url.replace("/postgres?", "/bytes?")))

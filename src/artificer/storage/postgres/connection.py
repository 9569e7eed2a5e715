"""Connections to a database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from msgspec import Struct
from psycopg import AsyncConnection, BaseConnection, Connection, sql
from psycopg_pool import ConnectionPool

from artificer.errors import (
    ConfigError,
)
from artificer.ports import Durability
from artificer.storage.closed import closed
from artificer.storage.postgres.faults import FAULTS, designed, first_line
from artificer.storage.postgres.line_limits import limits, limits_of_server
from artificer.storage.postgres.names import write_any_text

T = TypeVar("T")

POOL = 8
"""Most connections of one process that read, besides the one that writes."""

PATIENCE_SECONDS = 30.0
"""How long a database may be away before what waits for it fails."""

SCHEMA = "artificer"
"""The schema of a world whose URL names none."""

_SET = (
    "SELECT set_config(name, value, false) "
    "FROM unnest(%s::text[], %s::text[]) AS settings (name, value)"
)

_OURS = ("schema", "blobs")


class Database(Struct, frozen=True):
    """A database, the schema in it that holds the world, and the URL of large blobs, if any."""

    conninfo: str
    schema: str = SCHEMA
    blobs: str = ""
    durability: Durability = "power"
    read_only: bool = False

    @classmethod
    def parse(cls, url: str, durability: Durability, *, read_only: bool) -> Database:
        """Read a URL as libpq does, with ``schema`` and ``blobs`` among its parameters.

        Raises:
            ConfigError: it is not such a URL.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            raise _unread("its host cannot be read") from None
        query = parts.query.replace("+", "%2B")  # for libpq it is no space
        parameters = parse_qsl(query, keep_blank_values=True)
        ours = dict(pair for pair in parameters if pair[0] in _OURS)
        others = [pair for pair in parameters if pair[0] not in _OURS]
        rest = urlencode(others, quote_via=quote)
        conninfo = urlunsplit(parts._replace(query=rest))
        _check_parts(conninfo)
        database = cls(conninfo, durability=durability, read_only=read_only, **ours)
        if not _is_schema(database.schema):
            raise ConfigError(
                f"The schema {database.schema!r} cannot hold a world.",
                hint="Name another one, of at most 63 bytes: postgresql://…?schema=NAME",
            )
        return database

    @property
    def name(self) -> str:
        """The server, the database and the schema, without the user and the password."""
        parts = psycopg.conninfo.conninfo_to_dict(self.conninfo)
        where = [str(parts.get(key) or "") for key in ("host", "hostaddr", "port", "dbname")]
        return " ".join((*where, self.schema))

    @property
    def path(self) -> str:
        """The path of the URL: after it, the queues of worlds were named that had no id."""
        return urlsplit(self.conninfo).path

    def connect(self, answer_seconds: int | None = None) -> Connection:
        """Open its own connection; with a limit, each answer has to come within it."""
        soon = limits(self.conninfo, answer_seconds)
        db = psycopg.connect(self.conninfo, autocommit=True, **soon)
        try:
            if answer_seconds is not None:
                db.execute(sql.SQL("SET statement_timeout = {}").format(answer_seconds * 1000))
            self.configure(db)
        except BaseException:  # an interrupt too: nobody else could close it
            db.close()
            raise
        return db

    async def connect_loop(self) -> AsyncConnection:
        """Open its own connection for the event loop that runs."""
        soon = limits(self.conninfo)
        db = await AsyncConnection.connect(self.conninfo, autocommit=True, **soon)
        try:
            write_any_text(db)
            await db.execute(_SET, self._settings(db))
        except BaseException:  # a cancellation too: nobody else could close it
            await db.close()
            raise
        return db

    def configure(self, db: Connection) -> None:
        """Make a new connection one of this world."""
        db.autocommit = True
        write_any_text(db)
        db.execute(_SET, self._settings(db))

    def _settings(self, db: BaseConnection[Any]) -> tuple[list[str], list[str]]:
        """The settings that make a new connection one of this world, and their values."""
        _check_encoding(db.info.parameter_status("server_encoding"))
        settings = {
            **limits_of_server(db.info.get_parameters()),
            "search_path": sql.Identifier(self.schema).as_string(db),
            "synchronous_commit": "on" if self.durability == "power" else "off",
        }
        if self.read_only:
            settings["default_transaction_read_only"] = "on"
        return list(settings), list(settings.values())


def _check_encoding(found: str | None) -> None:
    """Raise ConfigError for a database that does not know which characters its bytes are."""
    if found != "UTF8":
        raise ConfigError(
            f"The database has the encoding {found}; a world needs UTF8.",
            hint="Make another database: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
        )


def _check_parts(conninfo: str) -> None:
    """Raise ConfigError for a URL that libpq cannot read, or takes apart in the wrong places.

    No message quotes it, nor has the error that does as its cause: a part may be the password.
    """
    try:
        port = psycopg.conninfo.conninfo_to_dict(conninfo).get("port") or ""
    except psycopg.ProgrammingError as error:
        raise _unread(first_line(error).partition('"')[0].strip(" :")) from None
    if not re.fullmatch(r"[0-9,]*", str(port)):
        raise _unread("its port is not a number")
    if conninfo.partition("?")[0].count("@") > 1:
        raise _unread("it has several @")


def _unread(reason: str) -> ConfigError:
    return ConfigError(
        f"The setting storage cannot be read: {reason}.",
        hint="In a password, write all characters except letters and digits as %XX: @ is %40.",
    )


def _is_schema(name: str) -> bool:
    """Whether a schema may have this name, and is then found under the same one."""
    is_text = name.isprintable() and "\\" not in name and 0 < len(name.encode()) <= 63
    return is_text and name != "$user" and not name.startswith("pg_")


class Server:
    """The connections of one process that read a world, in threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._pool = ConnectionPool(
            database.conninfo,
            kwargs={"autocommit": True, **limits(database.conninfo)},
            min_size=1,
            max_size=POOL,
            timeout=PATIENCE_SECONDS,
            configure=database.configure,
            check=ConnectionPool.check_connection,
            open=False,
            name=f"artificer {database.schema}",
        )
        self._threads = ThreadPoolExecutor(POOL, thread_name_prefix="artificer postgres")
        self._closed = False

    def open(self) -> None:
        """Open the first connection.

        Raises:
            OperatorError: the database cannot be reached.
        """
        try:
            self._pool.open(wait=True, timeout=PATIENCE_SECONDS)
        except FAULTS as error:
            raise designed(error) from error

    def read(self, query: Callable[[Connection], T]) -> T:
        """Return a query's result, in the thread that calls. For threads; see ``ask``."""
        if self._closed:
            raise closed("storage of the world")
        with self.connection() as db:
            return query(db)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection to the thread that calls. Raises OperatorError."""
        try:
            with self._pool.connection() as db:
                yield db
        except FAULTS as error:
            raise designed(error) from error

    async def ask(self, query: Callable[[Connection], T]) -> T:
        """Return a query's result, computed in a thread.

        Raises:
            AuthorError: the storage is closed.
            OperatorError: the database cannot be read.
        """
        if self._closed:
            raise closed("storage of the world")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.read, query)

    async def aclose(self) -> None:
        """Finish the queries that wait, then close all. May be called more than once."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._pool.close)

"""The tables of a world in PostgreSQL."""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection, errors, sql

from artificer.errors import ConfigError, OperatorError, TamperedError
from artificer.storage.chain import FORMAT, genesis
from artificer.storage.postgres.locks import Lock, hold
from artificer.values.release import RELEASE

TABLES: tuple[LiteralString, ...] = (
    # What the world says of itself. Its chain starts from it, so it is covered too.
    "CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL)",
    "CREATE TABLE runs (number bigint PRIMARY KEY, run text NOT NULL UNIQUE, "
    "epoch bigint NOT NULL, seq bigint NOT NULL, hash text NOT NULL, seal text NOT NULL, "
    "owner text NOT NULL) WITH (fillfactor = 80)",
    # In which order records and notes were committed: by transaction, and within one by number.
    "CREATE SEQUENCE entries",
    "CREATE TABLE records (run text NOT NULL, seq bigint NOT NULL, hash text NOT NULL, "
    "body bytea NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), "
    "entry bigint NOT NULL DEFAULT nextval('entries'), PRIMARY KEY (run, seq))",
    "CREATE UNIQUE INDEX records_entry ON records (xid, entry)",
    # Lines of the world's chain that are not records. The tables further down are caches of them.
    "CREATE TABLE notes (subject text NOT NULL, hash text NOT NULL, body bytea NOT NULL, "
    "xid xid8 NOT NULL DEFAULT pg_current_xact_id(), "
    "entry bigint PRIMARY KEY DEFAULT nextval('entries'))",
    "CREATE UNIQUE INDEX notes_entry ON notes (xid, entry)",
    "CREATE INDEX notes_subject ON notes (subject, entry)",
    # The world's chain, as far as it has been made; and its end, with the entry that is there.
    "CREATE TABLE chain (position bigint PRIMARY KEY, world text NOT NULL, "
    "xid xid8 NOT NULL, entry bigint NOT NULL, UNIQUE (xid, entry))",
    "CREATE TABLE tip (one integer PRIMARY KEY CHECK (one = 1), position bigint NOT NULL, "
    "world text NOT NULL, xid xid8 NOT NULL, entry bigint NOT NULL)",
    # Blobs committed with the record that cites them, and, without other storage, all others.
    "CREATE TABLE blobs (digest text PRIMARY KEY, data bytea NOT NULL, put timestamptz)",
    "CREATE TABLE signals (position bigint PRIMARY KEY, run text NOT NULL, n bigint NOT NULL, "
    "body bytea NOT NULL, UNIQUE (run, n))",
    # What requests of an account have cost (row 0), and may cost until they are settled or expire.
    "CREATE TABLE spending (account text NOT NULL, n bigint NOT NULL, tokens bigint NOT NULL, "
    "micros bigint NOT NULL, until bigint, PRIMARY KEY (account, n))",
    "CREATE TABLE versions (run text NOT NULL, workspace text NOT NULL, number bigint NOT NULL, "
    "digest text NOT NULL, PRIMARY KEY (run, workspace, number))",
    # Kept states of runs: they may be lost.
    "CREATE UNLOGGED TABLE states (run text PRIMARY KEY, body bytea NOT NULL)",
    "CREATE UNLOGGED TABLE chunks (run text NOT NULL, first bigint NOT NULL, "
    "body bytea NOT NULL, PRIMARY KEY (run, first))",
)


ADDED: tuple[tuple[str, str, LiteralString], ...] = (
    ("blobs", "put", "ALTER TABLE blobs ADD COLUMN IF NOT EXISTS put timestamptz"),
)
"""Columns that worlds of older releases do not have: table, column, and what adds it."""


def is_made(db: Connection, schema: str) -> bool:
    """Whether a schema holds a world, or anything else.

    Raises:
        ConfigError: it holds something else, or a world of a newer format.
        TamperedError: the world does not name its format.
    """
    names = {table for table, _ in _columns(db, schema)}
    if not names:
        return False
    if "meta" not in names or "records" not in names:
        raise ConfigError(
            f"The schema {schema!r} holds tables, and no world.",
            hint="Name another schema: postgresql://…?schema=NAME",
        )
    _check_format(db, schema)
    return True


def make(db: Connection, schema: str) -> None:
    """Make the schema and its tables; of several processes at once, one does it."""
    with db.transaction():
        hold(db, Lock.TABLES, schema)
        if is_made(db, schema):
            return
        db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        for table in TABLES:
            db.execute(table)
        db.execute(
            "INSERT INTO meta VALUES ('format', %s), ('release', %s)", (str(FORMAT), RELEASE)
        )
        db.execute("INSERT INTO tip VALUES (1, 0, %s, '0', 0)", (genesis(FORMAT, RELEASE),))


def complete(db: Connection, schema: str) -> None:
    """Add what a world of an older release does not have.

    Raises:
        OperatorError: this user may not; the world's owner may.
    """
    found = _columns(db, schema)
    missing = [add for table, column, add in ADDED if (table, column) not in found]
    if not missing:
        return
    try:
        with db.transaction():
            hold(db, Lock.TABLES, schema)
            for statement in missing:
                db.execute(statement)
    except errors.InsufficientPrivilege as error:
        raise OperatorError(
            f"The world in the schema {schema!r} was made by an older release, and this user may "
            "not change its tables.",
            hint="As its owner: artificer init --world URL, with --role for each of its workers.",
        ) from error


def _columns(db: Connection, schema: str) -> set[tuple[str, str]]:
    """The columns of all tables that this user can use."""
    query = (
        "SELECT table_name::text, column_name::text FROM information_schema.columns "
        "WHERE table_schema = %s"
    )
    return {*db.execute(query, (schema,)).fetchall()}


def _check_format(db: Connection, schema: str) -> None:
    meta: dict[str, str] = dict(db.execute("SELECT key, value FROM meta").fetchall())
    found = meta.get("format", "")
    if not found.isdecimal() or int(found) < 1:
        raise TamperedError(f"The world in the schema {schema!r} does not name its format.")
    if int(found) > FORMAT:
        raise ConfigError(
            f"The world in the schema {schema!r} has format {found}; this release reads up to "
            f"format {FORMAT}.",
            hint=f"It was written by Artificer {meta.get('release')}: use that release or newer.",
        )

"""The tables of a world in PostgreSQL."""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection, errors, sql

from artificer.errors import ConfigError, OperatorError, TamperedError
from artificer.storage.chain import FORMAT, genesis
from artificer.storage.postgres.identity import settle
from artificer.storage.postgres.locks import Lock, hold
from artificer.storage.world_names import name_from_url
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
    "CREATE TABLE blobs (digest text PRIMARY KEY, data bytea NOT NULL)",
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

"""The tables of layout 1."""

_SAME_USERS: LiteralString = """
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT DISTINCT grantee, privilege_type FROM information_schema.role_table_grants
    WHERE table_schema = current_schema() AND table_name = 'spending'
      AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  LOOP EXECUTE format('GRANT %s ON {table} TO %s', one.privilege_type,
    CASE one.grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(one.grantee) END);
  END LOOP;
END $$
"""


def _same_users_of(table: LiteralString) -> LiteralString:
    """Return what lets those use a new table who use the others."""
    return _SAME_USERS.replace("{table}", table)


CHANGES: tuple[tuple[LiteralString, ...], ...] = (
    # 2: when a blob was put; the owners of runs, on all machines, and their leases.
    (
        "ALTER TABLE blobs ADD COLUMN IF NOT EXISTS put timestamptz",
        "CREATE TABLE owners (owner text PRIMARY KEY, machine text NOT NULL, boot text NOT NULL, "
        "host text NOT NULL, who text NOT NULL, until timestamptz NOT NULL, "
        "dead boolean NOT NULL DEFAULT false)",
        "CREATE INDEX owners_machine ON owners (machine) WHERE NOT dead",
        # The runs that are held, by their holders: few of many.
        "CREATE INDEX runs_held ON runs (split_part(owner, ' ', 1)) WHERE owner <> ''",
        _same_users_of("owners"),
    ),
    # 3: which worker has which run. It may be lost.
    (
        "CREATE UNLOGGED TABLE assignments (run text PRIMARY KEY, owner text NOT NULL, "
        "standing text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), "
        "refused text[] NOT NULL DEFAULT '{}') WITH (fillfactor = 70)",
        "DROP INDEX runs_held",
        _same_users_of("assignments"),
    ),
    # 4: the permits of limits that all processes share. They may be lost.
    (
        "CREATE UNLOGGED TABLE permits (name text NOT NULL, permit text NOT NULL, "
        "until timestamptz NOT NULL, held boolean NOT NULL, PRIMARY KEY (name, permit))",
        "CREATE INDEX permits_until ON permits (until)",
        _same_users_of("permits"),
    ),
    # 5: reservations, by when they expire: each that is made looks for them, under a lock.
    ("CREATE INDEX spending_until ON spending (until) WHERE until IS NOT NULL",),
    # 6: the world's id. It tells nothing, so that it cannot be wrong.
    (
        "INSERT INTO meta VALUES ('world', replace(gen_random_uuid()::text, '-', '')) "
        "ON CONFLICT DO NOTHING",
    ),
)
"""The statements that lead from each layout to the next one. A world is made as one of layout 1 and
brought up to date in the same way as an older one. What is here is never changed, only added to."""

LAYOUT = 1 + len(CHANGES)
"""The layout of the tables: which there are, and their columns. What they hold is the format."""


def is_made(db: Connection, schema: str) -> bool:
    """Whether a schema holds a world, or anything else.

    Raises:
        ConfigError: it holds something else, or a world of a newer format.
        TamperedError: the world does not name its format.
    """
    names = _tables(db, schema)
    if not names:
        return False
    if "meta" not in names or "records" not in names:
        raise ConfigError(
            f"The schema {schema!r} contains tables, but no world.",
            hint="Name another schema: postgresql://…?schema=NAME",
        )
    _check_format(db, schema)
    return True


def layout_of(db: Connection) -> int:
    """Return the layout of the tables. Worlds of layout 1 do not name theirs."""
    row = db.execute("SELECT value FROM meta WHERE key = 'layout'").fetchone()
    return int(row[0]) if row is not None and row[0].isdecimal() else 1


_WITH_ID = 6
"""The first layout with an id of the world."""


def bring_up_to_date(db: Connection, schema: str, path: str) -> None:
    """Give the tables of an older layout what the present one has, once; nothing is lost.

    A world that had no id keeps the queue that was named after the ``path`` of its URL.

    Raises:
        OperatorError: this user may not.
    """
    if layout_of(db) >= LAYOUT:
        return
    try:
        with db.transaction():
            hold(db, Lock.TABLES, schema)
            if layout_of(db) < _WITH_ID:
                queue = name_from_url(path, schema)
                db.execute("INSERT INTO meta VALUES ('queue', %s)", (queue,))
            _change(db)
    except errors.InsufficientPrivilege as error:
        raise OperatorError(
            f"The world in the schema {schema!r} was made by an older release, and this user may "
            f"not change its tables: they have layout {layout_of(db)}, and need layout {LAYOUT}.",
            hint="As its owner: artificer init --world URL, with --role for each of its workers.",
        ) from error


def _change(db: Connection) -> None:
    for change in CHANGES[layout_of(db) - 1 :]:
        for statement in change:
            db.execute(statement)
    db.execute(
        "INSERT INTO meta VALUES ('layout', %s) ON CONFLICT (key) DO UPDATE "
        "SET value = excluded.value",
        (str(LAYOUT),),
    )
    if "site" not in dict(db.execute("SELECT key, value FROM meta").fetchall()):
        settle(db)


def make(db: Connection, schema: str) -> bool:
    """Make the schema and its tables; return whether this process, of several at once, did it."""
    if is_made(db, schema):
        return False
    with db.transaction():
        hold(db, Lock.TABLES, schema)
        if is_made(db, schema):
            return False
        db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        for table in TABLES:
            db.execute(table)
        db.execute(
            "INSERT INTO meta VALUES ('format', %s), ('release', %s)", (str(FORMAT), RELEASE)
        )
        db.execute("INSERT INTO tip VALUES (1, 0, %s, '0', 0)", (genesis(FORMAT, RELEASE),))
        _change(db)
        return True


def _tables(db: Connection, schema: str) -> set[str]:
    """The tables that this user can use."""
    query = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = %s"
    return {name for (name,) in db.execute(query, (schema,)).fetchall()}


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
    if layout_of(db) > LAYOUT:
        raise ConfigError(
            f"The world in the schema {schema!r} has tables of layout {layout_of(db)}; this "
            f"release knows layouts up to {LAYOUT}.",
            hint="A newer release has upgraded it: use that release.",
        )

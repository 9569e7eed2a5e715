"""A world's identity and its site: a restored copy, or a server that is behind, has another site.

A world has a random id, by which an object store and a Temporal server know it. A backup keeps it.
So that two copies with one id do not both continue, the world also writes down its site: the
server, the database and the schema that hold its tables, and the timeline of the server, which
changes when a replica is promoted. Who writes looks at both first, over each new connection. See
docs/decisions/0060-a-worlds-id-and-its-site.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, LiteralString

from msgspec import Struct
from psycopg import AsyncConnection, Connection

from artificer.errors import MovedError, OperatorError
from artificer.ports import Head, RunHead
from artificer.storage.world_site import WorldSite

Replication = Literal["none", "asynchronous", "synchronous"]
"""Whether the server has replicas, and whether a commit waits for one of them."""

KEYS = frozenset({"world", "queue", "site", "replication", "objects"})
"""Keys of a world's description that its chain does not cover: other servers know it by them."""

_META: LiteralString = "SELECT key, value FROM meta"

_SITE: LiteralString = """
SELECT (SELECT system_identifier FROM pg_control_system())::text,
  (SELECT oid FROM pg_database WHERE datname = current_database())::text,
  (SELECT oid FROM pg_namespace WHERE nspname = current_schema())::text,
  CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
"""

_REPLICATION: LiteralString = """
SELECT CASE
  WHEN current_setting('synchronous_standby_names') <> ''
    AND current_setting('synchronous_commit') <> 'off' THEN 'synchronous'
  WHEN EXISTS (SELECT FROM pg_stat_replication) THEN 'asynchronous'
  ELSE 'none' END
"""

_PUT: LiteralString = (
    "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)


class Identity(Struct, frozen=True):
    """A world as it says of itself, ``known`` being its last site, and the ``site`` it is at."""

    world: str
    queue: str
    known: WorldSite
    site: WorldSite
    replication: str = "none"
    lost: str = ""

    def fault(self) -> MovedError | None:
        """Return why nobody may write here; None if all is well."""
        if self.lost:
            return MovedError(self.lost, hint=_ACCEPT)
        if self.known == self.site or self.goes_on:
            return None
        if self.site.is_promoted_from(self.known):
            return MovedError(
                "The database server was a replica until it was promoted, and its commits waited "
                "for no replica: the last commits may be missing.",
                hint=_ACCEPT,
            )
        return MovedError(
            "This world was restored, copied or moved here: it was last written on another server, "
            "or in another database or schema.",
            hint="If its original is gone: `artificer init --world URL --restored`. If this is a "
            "copy next to its original: `--new-id` instead, and a folder of its own for its blobs.",
        )

    @property
    def goes_on(self) -> bool:
        """Whether a replica was promoted that has all that was committed."""
        is_safe = self.replication == "synchronous"
        return is_safe and self.site.is_promoted_from(self.known)


_ACCEPT = (
    "Stop all workers. `artificer verify --against FILE` tells what is missing of heads that you "
    "keep. Then accept it: `artificer init --world URL --restored`."
)


def require_writable(db: Connection) -> None:
    """Raise OperatorError for a replica."""
    row = db.execute("SELECT pg_is_in_recovery()").fetchone()
    if row is not None and row[0]:
        raise _is_replica()


def here(db: Connection) -> Identity | None:
    """Return the world's identity and check it; None for tables of a layout without one.

    Raises:
        MovedError: the world is not where it was, or records of it are lost.
        OperatorError: this server is a replica.
    """
    found = identity(db)
    if found is None:
        return None
    if fault := found.fault():
        raise fault
    if found.goes_on:
        db.execute(_PUT, ("site", str(found.site)))
    return found


def checked(db: Connection) -> Connection:
    """Return a new connection if the world may be written over it, or else close it.

    Raises what `here` does.
    """
    try:
        here(db)
    except BaseException:  # an interrupt too: nobody else could close it
        db.close()
        raise
    return db


def identity(db: Connection) -> Identity | None:
    """Return the world's identity as it is; None for tables of a layout without one.

    Raises OperatorError.
    """
    return _identity(db.execute(_META).fetchall(), db.execute(_SITE).fetchone())


async def is_here(db: AsyncConnection) -> bool:
    """Whether the world is where it was, and all is well."""
    meta = await (await db.execute(_META)).fetchall()
    found = _identity(meta, await (await db.execute(_SITE)).fetchone())
    return found is None or (found.fault() is None and not found.goes_on)


def keeps_objects(db: Connection) -> bool:
    """Whether a world has been written to with its large blobs in an object store."""
    return db.execute("SELECT 1 FROM meta WHERE key = 'objects'").fetchone() is not None


def note_objects(db: Connection) -> None:
    """Write down that the world's large blobs are in an object store."""
    if not keeps_objects(db):
        db.execute(_PUT, ("objects", "elsewhere"))


def settle(db: Connection) -> None:
    """Write down that the world is here, and that what is lost is: its id stays."""
    db.execute("DELETE FROM meta WHERE key = 'lost'")
    db.execute(_PUT, ("site", str(_site(db.execute(_SITE).fetchone()))))
    note_replication(db)


def rename(db: Connection, world: str) -> None:
    """Give a copy of a world its own id. The caller settles it."""
    db.execute("DELETE FROM meta WHERE key = 'queue'")
    db.execute(_PUT, ("world", world))


def replication(db: Connection) -> Replication:
    """Return what the server does for replicas, as far as this connection's commits go."""
    row = db.execute(_REPLICATION).fetchone()
    assert row is not None
    found: Replication = row[0]
    return found


def note_replication(db: Connection) -> None:
    """Write down how the server replicates: a replica that is promoted cannot tell."""
    found = replication(db)
    row = db.execute("SELECT value FROM meta WHERE key = 'replication'").fetchone()
    if row is None or row[0] != found:
        db.execute(_PUT, ("replication", found))


def lost(db: Connection, run: str, epoch: int, head: Head, found: RunHead | None) -> str:
    """Return what is lost where the writer, to whom this epoch was given, knows more than the
    database; else nothing.

    It is written down, so that nobody executes a run again of which effects may be forgotten: the
    epoch of a run and the end of its records never go back. Commits that do not wait for the disk
    may be lost when the server crashes, by the world's own setting.
    """
    is_behind = found is None or (found.epoch, found.head.seq) < (epoch, head.seq)
    row = db.execute("SELECT current_setting('synchronous_commit')").fetchone()
    if not is_behind or row is None or row[0] == "off":
        return ""
    ends = "is unknown there" if found is None else f"ends there at record {found.head.seq}"
    text = f"The database has lost records: run {run} {ends}, and was at record {head.seq}."
    db.execute("INSERT INTO meta VALUES ('lost', %s) ON CONFLICT DO NOTHING", (text,))
    return text


def moved(text: str) -> MovedError:
    """Return the error for records that are lost."""
    return MovedError(text, hint=_ACCEPT)


def _identity(rows: Sequence[Any], row: Any) -> Identity | None:
    meta: dict[str, str] = dict(rows)
    known = WorldSite.read(meta.get("site", ""))
    if known is None:
        return None
    world = meta.get("world", "")
    queue = meta.get("queue", world)
    state = (meta.get("replication", "none"), meta.get("lost", ""))
    return Identity(world, queue, known, _site(row), *state)


def _site(row: Any) -> WorldSite:
    found = WorldSite(*(part or "" for part in row))
    if not found.timeline:
        raise _is_replica()
    return found


def _is_replica() -> OperatorError:
    return OperatorError(
        "The database server is a replica, which accepts no writes.",
        hint="Name the primary in the URL, or all servers and target_session_attrs=read-write.",
    )

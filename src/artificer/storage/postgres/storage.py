"""A world's storage in PostgreSQL, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from psycopg import Connection

from artificer.errors import ConfigError, MissingExtraError
from artificer.ports import AgingBlobs, StoragePlace
from artificer.ports.clock import wall_time
from artificer.storage.blobs.claims import ObjectClaim
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.postgres.arrivals import PostgresArrivals
from artificer.storage.postgres.assignments import PostgresAssignments
from artificer.storage.postgres.blobs import PostgresBlobs
from artificer.storage.postgres.budget import PostgresBudget
from artificer.storage.postgres.chaining import check_end
from artificer.storage.postgres.connection import Database, Server
from artificer.storage.postgres.faults import FAULTS, designed
from artificer.storage.postgres.identity import (
    Identity,
    here,
    identity,
    keeps_objects,
    note_objects,
    note_replication,
    require_writable,
)
from artificer.storage.postgres.journal import PostgresJournal
from artificer.storage.postgres.locks import Lock, hold
from artificer.storage.postgres.owner_leases import PostgresOwnerLeases
from artificer.storage.postgres.permits import PostgresPermits
from artificer.storage.postgres.restored import begin_again
from artificer.storage.postgres.signals import PostgresSignals
from artificer.storage.postgres.snapshots import PostgresSnapshots
from artificer.storage.postgres.tables import bring_up_to_date, is_made, make
from artificer.storage.postgres.versions import PostgresVersions
from artificer.storage.postgres.writer import PostgresWriter
from artificer.storage.sqlite.run_index import SqliteRunIndex
from artificer.storage.sqlite.search_index import SqliteSearchIndex

if TYPE_CHECKING:
    from artificer.storage.blobs.objects import ObjectStore

SEARCH, RUNS = "search.db", "runs.db"


class PostgresStorage:
    """A `Storage` in a schema of PostgreSQL. One connection writes, and shares its commits.

    The folder of ``place`` is this machine's own, for caches. Raises ConfigError for a URL that
    cannot be read, or that leaves out where the world's large blobs are.
    """

    def __init__(self, place: StoragePlace) -> None:
        database = Database.parse(place.url, place.durability, read_only=place.read_only)
        self._server = Server(database)
        self._identity: Identity | None = None
        self._writer = PostgresWriter(database)
        self.signals = PostgresSignals(
            self._writer, self._server, place.clock.now if place.clock else wall_time
        )
        """The signals to runs."""
        self.journal = PostgresJournal(self._writer, self._server, self.signals)
        """The records of all runs."""
        self.budget = PostgresBudget(self._writer, self._server)
        """The accounts of days and builds."""
        self.versions = PostgresVersions(database, self._server)
        """The versions of workspaces."""
        self.snapshots = PostgresSnapshots(self._server)
        """Kept states of runs."""
        self.assignments = PostgresAssignments(self._server)
        """Which worker has which run."""
        self.arrivals = PostgresArrivals(database)
        """The new runs and signals."""
        self.permits = PostgresPermits(self._server)
        """The permits of limits that all processes share."""
        small = PostgresBlobs(self._server)
        self._objects = large_blobs(database, self._server)
        self.aging: AgingBlobs = self._objects or small
        """The blobs that were put apart from records."""
        self.blobs = JoinedStore(small, self._objects or small)
        """All blobs."""
        reading = place.read_only and not place.indexing
        self.search_index = SqliteSearchIndex(place.folder / SEARCH, read_only=reading)
        """Which records hold which words, in a file of this machine."""
        self.run_index = SqliteRunIndex(place.folder / RUNS, read_only=reading)
        """How each run stands, in a file of this machine."""

    @property
    def world_name(self) -> str:
        """The world's id; for one that had none, the name that it has had."""
        return "" if self._identity is None else self._identity.queue

    @property
    def owner_leases(self) -> PostgresOwnerLeases:
        """The leases of the owners of runs, over their own connection."""
        return PostgresOwnerLeases(self._server.database)

    def open(self) -> bool:
        """Open the connections, and make the tables, or what an older layout of them lacks.

        False when they are not there and nothing may be made.
        """
        database = self._server.database
        try:
            with database.connect() as db:
                made = is_made(db, database.schema)
                if made and not database.blobs and keeps_objects(db):
                    raise ConfigError(
                        "This world has its large blobs in an object store, but the setting "
                        "storage names none.",
                        hint="Add its place to the URL: postgresql://…?blobs=s3://…",
                    )
                if not database.read_only:
                    self._prepare(db)
        except FAULTS as error:
            raise designed(error) from error
        if made or not database.read_only:
            self._server.open()
            return True
        return False

    def _prepare(self, db: Connection) -> None:
        """Create or upgrade the tables, and check whether the world has moved or its end was
        changed."""
        database = self._server.database
        require_writable(db)
        with db.transaction():
            if make(db, database.schema) and self._objects is not None:
                self._objects.claim(claim_of(database, identity(db)))
        bring_up_to_date(db, database.schema, database.path)
        self._identity = here(db)
        note_replication(db)
        check_end(db)
        begin_again(db, database.schema)
        if self._objects is not None:
            self._objects.belong_to(claim_of(database, self._identity))
            note_objects(db)

    async def aclose(self) -> None:
        """Finish what waits and close all connections. May be called more than once."""
        await self._writer.aclose()
        self.search_index.close()
        self.run_index.close()
        self.versions.close()
        self.arrivals.close()
        await self._server.aclose()


def large_blobs(database: Database, server: Server) -> ObjectStore | None:
    """The store of the blobs that do not lie with their records; None when all do.

    Who removes an object and who wants it again are kept apart by a lock in the database.

    Raises:
        ConfigError: its URL cannot be used.
    """
    if not database.blobs:
        return None
    try:
        from artificer.storage.blobs.objects import ObjectStore
    except ImportError as error:
        raise MissingExtraError("s3", needed_for="A world with blobs in an object store") from error
    lock = partial(locked, server)
    return ObjectStore(database.blobs, read_only=database.read_only, lock=lock)


def claim_of(
    database: Database, found: Identity | None, *, takes_over: bool = False
) -> ObjectClaim:
    """Return the claim of a world to its objects."""
    assert found is not None
    former = database.name if found.queue != found.world else ""
    return ObjectClaim(found.world, found.site, former, takes_over)


@contextmanager
def locked(server: Server, digest: str) -> Iterator[None]:
    """Hold the lock of an object."""
    with server.connection() as db, db.transaction():
        hold(db, Lock.OBJECT, digest)
        yield

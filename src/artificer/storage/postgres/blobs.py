"""Blobs in PostgreSQL: those that are committed with records, and all others, if there is no
separate store for them.

``put`` is when a blob was put apart from records, and NULL for one that was committed with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from artificer.errors import NotFoundError
from artificer.storage.postgres.connection import Server
from artificer.storage.postgres.faults import only_read
from artificer.values.canon import digest_of


class PostgresBlobs:
    """The table of blobs, for any number of threads."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def find(self, digest: str) -> bytes | None:
        """The bytes as they are stored, or None when they are not here. Raises OperatorError."""
        query = "SELECT data FROM blobs WHERE digest = %s"
        row = self._server.read(lambda db: db.execute(query, (digest,), binary=True).fetchone())
        return None if row is None else bytes(row[0])

    def digests(self) -> Iterable[str]:
        """Every digest, as of now."""
        rows = self._server.read(lambda db: db.execute("SELECT digest FROM blobs").fetchall())
        return [digest for (digest,) in rows]

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest. Storing twice is storing once."""
        if self._server.database.read_only:
            raise only_read()
        digest = digest_of(data)
        query = (
            "INSERT INTO blobs (digest, data, put) VALUES (%s, %s, clock_timestamp()) "
            "ON CONFLICT (digest) DO UPDATE SET put = clock_timestamp()"
        )
        self._server.read(lambda db: db.execute(query, (digest, data)))
        return digest

    def get(self, digest: str) -> bytes:
        """There is nothing besides what ``find`` finds. Raises NotFoundError."""
        raise NotFoundError(f"There is no blob {digest}.")

    def has(self, digest: str) -> bool:
        """There is nothing besides what ``find`` finds."""
        return False

    def put_before(self, moment: float) -> Iterator[str]:
        """Yield those put apart from records before a moment (seconds since 1970), not again."""
        query = "SELECT digest FROM blobs WHERE put < to_timestamp(%s)"
        rows = self._server.read(lambda db: db.execute(query, (moment,)).fetchall())
        yield from (digest for (digest,) in rows)

    def remove(self, digest: str, moment: float) -> bool:
        """Remove a blob unless it was put after a moment; return whether that was done."""
        query = "DELETE FROM blobs WHERE digest = %s AND put < to_timestamp(%s)"
        return self._server.read(lambda db: db.execute(query, (digest, moment))).rowcount > 0

    def touch(self, digests: Iterable[str]) -> None:
        """Treat blobs as put now: for what refers to them from elsewhere in a moment."""
        query = (
            "UPDATE blobs SET put = clock_timestamp() WHERE digest = ANY(%s) AND put IS NOT NULL"
        )
        wanted = list(digests)
        self._server.read(lambda db: db.execute(query, (wanted,)))


class CommittedBlobs(PostgresBlobs):
    """The blobs that were committed with records, and were not put apart from one as well."""

    def digests(self) -> Iterable[str]:
        """Every digest, as of now."""
        query = "SELECT digest FROM blobs WHERE put IS NULL"
        rows = self._server.read(lambda db: db.execute(query).fetchall())
        return [digest for (digest,) in rows]

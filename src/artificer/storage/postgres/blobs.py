"""Blobs in PostgreSQL: those that are committed with records, and, where there is no store of
their own for them, all others."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.errors import NotFoundError
from artificer.storage.postgres.connection import Server, only_read
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
        query = "INSERT INTO blobs VALUES (%s, %s) ON CONFLICT DO NOTHING"
        self._server.read(lambda db: db.execute(query, (digest, data)))
        return digest

    def get(self, digest: str) -> bytes:
        """There is nothing besides what ``find`` finds. Raises NotFoundError."""
        raise NotFoundError(f"There is no blob {digest}.")

    def has(self, digest: str) -> bool:
        """There is nothing besides what ``find`` finds."""
        return False

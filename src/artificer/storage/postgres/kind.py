"""PostgreSQL as a kind of storage."""

from __future__ import annotations

import asyncio

from artificer.errors import MissingExtraError
from artificer.ports import Storage, StoragePlace


class PostgresKind:
    """The kind of storage whose URL is ``postgresql://…``."""

    async def open(self, place: StoragePlace) -> Storage | None:
        """Open the world in a schema, and make it when it is not there, or else return None.

        Raises:
            ConfigError: the URL cannot be read, or the schema holds something else.
            OperatorError: the database cannot be reached.
        """
        try:
            from artificer.storage.postgres.storage import PostgresStorage
        except ImportError as error:
            raise MissingExtraError("postgres", needed_for="A world in PostgreSQL") from error
        storage = PostgresStorage(place)
        return storage if await asyncio.to_thread(storage.open) else None


POSTGRES = PostgresKind()

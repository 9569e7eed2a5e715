"""Settling a world that was restored or copied, and reporting what its server guarantees."""

from __future__ import annotations

import secrets

from artificer.errors import ConfigError, OperatorError
from artificer.storage.postgres.connection import Database, Server
from artificer.storage.postgres.faults import FAULTS, designed
from artificer.storage.postgres.identity import (
    Replication,
    here,
    identity,
    rename,
    replication,
    settle,
)
from artificer.storage.postgres.locks import Lock, hold
from artificer.storage.postgres.storage import claim_of, large_blobs
from artificer.storage.postgres.tables import bring_up_to_date, is_made


def settle_world(database: Database, *, is_copy: bool) -> str:
    """Let a world continue at this site: as itself, or, with ``is_copy``, as one with its own id;
    return its id. Its objects become those of this site.

    Raises:
        ConfigError: there is no world, or the objects are another world's.
        OperatorError: the database or the store cannot be reached, or this user is not the owner.
    """
    try:
        with database.connect() as db:
            if not is_made(db, database.schema):
                raise ConfigError(
                    f"The schema {database.schema!r} contains no world, so none was restored.",
                    hint="Restore it first, or leave out --restored and --new-id for a new one.",
                )
            bring_up_to_date(db, database.schema, database.path)
            with db.transaction():
                hold(db, Lock.TABLES, database.schema)
                if is_copy:
                    rename(db, secrets.token_hex(16))
                settle(db)
                found = identity(db)
                objects = large_blobs(database, Server(database))
                if objects is not None:
                    objects.claim(claim_of(database, found, takes_over=not is_copy))
    except FAULTS as error:
        raise designed(error) from error
    assert found is not None
    return found.world


def check_objects(database: Database) -> None:
    """Make sure that the store of large blobs, if there is one, is this world's.

    Raises:
        ConfigError: its URL cannot be used, or it is another world's.
        OperatorError: it cannot be reached, or refuses.
    """
    objects = large_blobs(database, Server(database))
    if objects is None:
        return
    try:
        with database.connect() as db:
            found = here(db)
    except FAULTS as error:
        raise designed(error) from error
    objects.claim(claim_of(database, found))


def look_at(database: Database) -> tuple[OperatorError | None, Replication]:
    """Return what keeps everybody from writing, if anything, and how the server replicates.

    Raises OperatorError if it cannot be reached, or is a replica itself.
    """
    try:
        with database.connect() as db:
            if not is_made(db, database.schema):
                return None, replication(db)
            found = identity(db)
            return None if found is None else found.fault(), replication(db)
    except FAULTS as error:
        raise designed(error) from error

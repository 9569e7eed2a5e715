"""Preparing a database for a world: the roles that use it, and the store of its large blobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from artificer.config import Config
from artificer.errors import MissingExtraError

if TYPE_CHECKING:
    from artificer.storage.postgres.connection import Database
    from artificer.storage.postgres.roles import RoleRights


def role_statements(config: Config, role: str, rights: RoleRights) -> Iterator[str]:
    """Yield the statements that make a role. Raises ConfigError for a URL that cannot be read."""
    database = _database(config)
    from artificer.storage.postgres.roles import created, statements

    yield created(role).as_string()
    for statement in statements(database.schema, role, rights):
        yield statement.as_string()


def add_role(config: Config, role: str, rights: RoleRights) -> bool:
    """Make a role, and give it its rights; return whether it was not there.

    Raises:
        ConfigError: it may do more already, or cannot have this name.
        OperatorError: the database cannot be reached, or this user may make no role.
    """
    database = _database(config)
    from artificer.storage.postgres.roles import make_role

    return make_role(database, role, rights)


def check_objects(config: Config) -> str:
    """Return the URL of the store of large blobs, once it has taken an object; empty for none.

    Raises:
        ConfigError: its URL cannot be used.
        OperatorError: it cannot be reached, or refuses.
    """
    database = _database(config)
    from artificer.storage.postgres.connection import Server
    from artificer.storage.postgres.storage import large_blobs

    store = large_blobs(database, Server(database))
    if store is not None:
        store.claim(database.name)
    return database.blobs


def _database(config: Config) -> Database:
    try:
        from artificer.storage.postgres.connection import Database
    except ImportError as error:
        raise MissingExtraError("postgres", needed_for="A world in PostgreSQL") from error
    return Database.parse(config.storage, config.durability, read_only=False)

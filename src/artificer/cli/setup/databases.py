"""Preparing a database for a world: the roles that use it, and the store of its large blobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from artificer.cli.commands.setup import InitOptions
from artificer.config import Config
from artificer.errors import MissingExtraError

if TYPE_CHECKING:
    from artificer.storage.postgres.connection import Database
    from artificer.storage.postgres.roles import RoleRights


def is_in_database(storage: str) -> bool:
    """Whether a setting names a world in PostgreSQL."""
    return storage.partition(":")[0] in ("postgresql", "postgres")


def needs_world(options: InitOptions) -> bool:
    """Whether an option is about a world in PostgreSQL."""
    roles = options.role or options.reader
    return bool(roles or options.print_sql or options.restored or options.new_id)


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


def settle_world(config: Config, *, is_copy: bool) -> str:
    """Let a restored world continue here, or a copy as its own world; return its id.

    Raises:
        ConfigError: there is no world, or its objects are another one's.
        OperatorError: the database or the store cannot be reached, or refuses.
    """
    database = _database(config)
    from artificer.storage.postgres.settling import settle_world

    return settle_world(database, is_copy=is_copy)


def check_objects(config: Config) -> str:
    """Return the URL of the store of large blobs, once it has taken an object; empty for none.

    Raises:
        ConfigError: its URL cannot be used.
        OperatorError: it cannot be reached, or refuses.
    """
    database = _database(config)
    from artificer.storage.postgres.settling import check_objects

    check_objects(database)
    return database.blobs


def replication_of(config: Config) -> str:
    """Return whether the server has replicas, and commits wait for one: as doctor says it.

    Raises:
        MovedError: the world is not where it was.
        OperatorError: the database cannot be reached.
    """
    database = _database(config)
    from artificer.storage.postgres.settling import look_at

    fault, found = look_at(database)
    if fault is not None:
        raise fault
    return found


def _database(config: Config) -> Database:
    try:
        from artificer.storage.postgres.connection import Database
    except ImportError as error:
        raise MissingExtraError("postgres", needed_for="A world in PostgreSQL") from error
    return Database.parse(config.storage, config.durability, read_only=False)

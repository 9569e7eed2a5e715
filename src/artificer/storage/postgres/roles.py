"""The roles that use a world and do not own it."""

from __future__ import annotations

from typing import Literal, LiteralString

from psycopg import Connection, sql

from artificer.errors import ConfigError
from artificer.storage.postgres.connection import Database
from artificer.storage.postgres.faults import FAULTS, designed

RoleRights = Literal["work", "read"]
"""The rights of a role in a world: all that a worker does, or to look only."""

DELETED: tuple[LiteralString, ...] = (
    *("spending", "signals", "versions", "blobs", "states", "chunks"),
    *("owners", "assignments", "permits"),
)
"""The tables of which a worker deletes rows; it adds and changes rows of all, and drops none."""


def statements(schema: str, role: str, rights: RoleRights) -> list[sql.Composed]:
    """Return what gives a role its rights in one world, and no other. It may be done again."""
    names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role)}
    tables = [sql.Identifier(schema, table) for table in DELETED]
    return [
        sql.SQL(text).format(**names, deleted=sql.SQL(", ").join(tables))
        for text in (_USE, *(_WORK if rights == "work" else _READ))
    ]


def make_role(database: Database, role: str, rights: RoleRights) -> bool:
    """Make a role that may log in, and give it its rights; return whether it was not there.

    It gets no password: how it logs in is the server's own matter.

    Raises:
        ConfigError: it has rights already that no worker needs.
        OperatorError: the database cannot be reached, or this user may make no role.
    """
    try:
        with database.connect() as db, db.transaction():
            found = db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
            if found is None:
                db.execute(created(role))
            _check(db, database.schema, role)
            for statement in statements(database.schema, role, rights):
                db.execute(statement)
            return found is None
    except FAULTS as error:
        raise designed(error) from error


def created(role: str) -> sql.Composed:
    """Return what makes a role."""
    return sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role))


def _check(db: Connection, schema: str, role: str) -> None:
    """Refuse a role that could change the tables themselves, or read other worlds."""
    row = db.execute(
        "SELECT rolsuper OR rolbypassrls OR has_schema_privilege(oid, %s, 'CREATE') "
        "FROM pg_roles WHERE rolname = %s",
        (schema, role),
    ).fetchone()
    if row is None or row[0]:
        raise ConfigError(
            f"The role {role!r} has too many rights for a worker: it could change tables.",
            hint="Name a role that owns nothing here and is not a superuser, or a new one.",
        )


_USE: LiteralString = "GRANT USAGE ON SCHEMA {schema} TO {role}"

_WORK: tuple[LiteralString, ...] = (
    "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "GRANT DELETE ON {deleted} TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
)

_READ: tuple[LiteralString, ...] = ("GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",)

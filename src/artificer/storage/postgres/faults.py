"""The errors of a database, and our errors for them."""

from __future__ import annotations

import logging
from collections.abc import Callable

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from artificer.errors import (
    ArtificerError,
    ConfigError,
    InvalidValueError,
    OperatorError,
    TamperedError,
)

# Without a handler, its warnings about a server that goes away come to stderr as they are. The same
# is raised, and becomes an error of ours; a program that has handlers of its own still gets them.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

FAULTS = (psycopg.Error, PoolTimeout, InvalidValueError)
"""The errors of a failing database, and of a row that is none of ours."""

_LOST = PoolTimeout | psycopg.InterfaceError | errors.IdleInTransactionSessionTimeout


def is_lost(error: BaseException) -> bool:
    """Whether a connection was lost, or could not be made: the same may work on another one."""
    return isinstance(error, _LOST) or (
        isinstance(error, psycopg.OperationalError)
        and not isinstance(error, (errors.LockNotAvailable, errors.DiskFull))
    )


def designed(error: BaseException) -> ArtificerError:
    """Return our error for one of the database's; one of ours is returned as it is."""
    if isinstance(error, ArtificerError) and not isinstance(error, InvalidValueError):
        return error
    for kinds, describe in _DESIGNED:
        if isinstance(error, kinds):
            return describe(first_line(error))
    return _unreachable(first_line(error)) if is_lost(error) else _damaged(first_line(error))


def in_doubt(error: BaseException) -> OperatorError:
    """Return the error for a failure after which it is unknown whether the commit took effect."""
    return OperatorError(
        designed(error).message,
        hint="It is unknown whether the last commit took effect. Resume when the server is back: "
        "its records show it.",
    )


def only_read() -> OperatorError:
    """Return the error for writing to a world that was opened to be read."""
    return OperatorError(
        "The world is open for reading only; nothing was written.",
        hint="Open it as a World to write to it.",
    )


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, without its full stop."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _unreachable(reason: str) -> ArtificerError:
    return OperatorError(
        f"The database cannot be reached: {reason}.",
        hint="Nothing was written. Check the server and the setting storage, then try again.",
    )


def _damaged(reason: str) -> ArtificerError:
    return TamperedError(
        f"The world's tables were changed or damaged: {reason}.",
        hint="Run `artificer verify` to see what is affected.",
    )


def _not_allowed(reason: str) -> ArtificerError:
    return OperatorError(
        f"The database denies this user access: {reason}.",
        hint="docs/guides/postgresql.md lists the rights that a user needs.",
    )


def _rejected(reason: str) -> ArtificerError:
    return ConfigError(
        f"The database rejects this user: {reason}.",
        hint="Check the user in the URL, and its password in $PGPASSWORD or $PGPASSFILE.",
    )


def _full(_: str) -> ArtificerError:
    return OperatorError(
        "The database's disk is full.", hint="Nothing was written. Free some space and resume."
    )


def _held_up(_: str) -> ArtificerError:
    return OperatorError(
        "Another process holds a lock of this world for longer than the server's lock_timeout.",
        hint="Nothing was written. Look in pg_stat_activity for a process that stands still, end "
        "it, and try again.",
    )


_DESIGNED: tuple[tuple[tuple[type[Exception], ...], Callable[[str], ArtificerError]], ...] = (
    ((errors.InsufficientPrivilege,), _not_allowed),
    ((errors.InvalidPassword, errors.InvalidAuthorizationSpecification), _rejected),
    ((errors.DiskFull,), _full),
    ((errors.LockNotAvailable,), _held_up),
    ((errors.ReadOnlySqlTransaction,), lambda _: only_read()),
)

"""Opening a journal: data that must not be lost is saved before SQLite opens the file."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from msgspec import Struct

from artificer.errors import ArtificerError, OperatorError, TamperedError
from artificer.ports import Durability
from artificer.storage.sqlite.anchor import (
    Anchor,
    Mark,
    anchor_path,
    check_anchor,
    has_anchor,
    newest_mark,
)
from artificer.storage.sqlite.damage import keep_damaged, require_database
from artificer.storage.sqlite.database import (
    FAULTS,
    add_tables,
    check_format,
    connect,
    designed,
    is_older,
)
from artificer.storage.sqlite.reader import snapshot
from artificer.storage.sqlite.upgrade import upgrade
from artificer.system.read_only import ReadOnlyDatabase

log = logging.getLogger("artificer.storage")


class OpenForWriting(Struct, frozen=True):
    """The connections of a journal that is written here, and its anchor."""

    writing: sqlite3.Connection
    reading: sqlite3.Connection
    blobs: sqlite3.Connection
    anchor: Anchor


def open_for_writing(path: Path, durability: Durability, busy_seconds: float) -> OpenForWriting:
    """Open a journal, making it when it is absent.

    Raises what :func:`artificer.storage.sqlite.database.connect` does, and TamperedError when the
    file is gone, or has lost records: then nothing was changed.
    """
    with ExitStack() as opened:
        try:
            mark = newest_mark(path)  # before anything else is read: the file is as far, or farther
            require_database(path)
            if mark is not None:  # on a connection that cannot write: its end leaves the log alone
                open_for_reading(path, busy_seconds).close()
            keep_damaged(path, is_anchored=mark is not None)
            writing, reading, blobs = (
                opened.enter_context(closing(connect(path, durability, busy_seconds)))
                for _ in range(3)
            )
            anchor = _anchored(writing, path, mark, durability, opened)
            upgrade(writing, path, anchor)
        except OSError as error:
            raise OperatorError(
                f"The journal {path} cannot be opened: {error}.",
                hint="Nothing was changed. Check the disk and the permissions.",
            ) from error
        except FAULTS as error:
            raise designed(error, path) from error
        opened.pop_all()
    return OpenForWriting(writing, reading, blobs, anchor)


def open_for_reading(path: Path, busy_seconds: float) -> ReadOnlyDatabase:
    """Open a journal that is only read. Nothing is made or changed.

    Raises:
        ConfigError: the file is not a journal, or one of a newer format.
        TamperedError: the file is damaged or gone, or has lost records.
        OperatorError: the file cannot be read.
    """
    mark = newest_mark(path)  # before anything else is read: the file is as far, or farther
    require_database(path)
    checked = partial(check_format, path=path)
    database = ReadOnlyDatabase(path, checked, busy_seconds=busy_seconds)
    try:
        database.ask(lambda db: check_anchor(db, path, mark))
        if database.ask(is_older):
            database.close()
            made_new = partial(_make_new, path=path)
            database = ReadOnlyDatabase(path, made_new, busy_seconds=busy_seconds, copied=True)
            database.ask(checked)
    except (ArtificerError, *FAULTS) as error:
        database.close()
        raise designed(error, path) from error
    return database


def _make_new(db: sqlite3.Connection, path: Path) -> None:
    """Make a private copy of an older release's journal one of this format."""
    check_format(db, path)
    add_tables(db)
    upgrade(db, path, None)


def _anchored(
    db: sqlite3.Connection,
    path: Path,
    mark: Mark | None,
    durability: Durability,
    opened: ExitStack,
) -> Anchor:
    """Open the anchor, and let it know where the journal ends now. Raises TamperedError."""
    with snapshot(db):
        last = last_mark(db)
        _check_end(db, path, last)
    (had_one,) = db.execute("PRAGMA user_version").fetchone()
    is_known = mark is not None or last is None or not had_one
    if not (is_known or has_anchor(path)):  # a process that makes the journal now has just made it
        log.warning(
            "the anchor %s is gone, and is made again: how far the journal had come is not known",
            anchor_path(path),
        )
    anchor = opened.enter_context(closing(Anchor(path, synced=durability == "power")))
    if last is not None:
        anchor.note(last)
    if not had_one:
        db.execute("PRAGMA user_version = 1")
    return anchor


def _check_end(db: sqlite3.Connection, path: Path, last: Mark | None) -> None:
    """Check that the last record or note is where the journal says that it ends.

    A writer would continue from there, and the anchor would know no better afterwards.

    Raises:
        TamperedError: it is elsewhere, or has another hash.
    """
    query = "SELECT position, world FROM {} ORDER BY position DESC LIMIT 1"
    ends = [db.execute(query.format(table)).fetchone() for table in ("records", "notes")]
    position, world = max((end for end in ends if end), default=(0, ""))
    tip = last or Mark(0, "")
    if (tip.position, tip.world) != (position, world):
        raise TamperedError(
            f"The journal {path} says that it ends at position {tip.position}, but its last "
            f"record or note is {'another one' if tip.position == position else position}.",
            hint="Nothing was changed. Run `artificer verify` to see the damage; restore the "
            "journal from a backup.",
        )


def anchor_problems(db: sqlite3.Connection, path: Path, mark: Mark | None) -> list[str]:
    """Return what is wrong between a journal and its anchor, which was read before."""
    try:
        check_anchor(db, path, mark)
        (has_one,) = db.execute("PRAGMA user_version").fetchone()
        if mark is None and has_one and last_mark(db) is not None:
            return [
                f"The anchor {anchor_path(path)} is missing or cannot be read: nothing outside of "
                "the journal says how far it had come."
            ]
    except TamperedError as error:
        return [error.message]
    except FAULTS:
        return []  # the audit says what SQLite cannot read
    return []


def last_mark(db: sqlite3.Connection) -> Mark | None:
    """Return where a journal ends; None for one that holds nothing."""
    row = db.execute("SELECT position, world FROM tip").fetchone()
    return None if row is None or row[0] == 0 else Mark(*row)

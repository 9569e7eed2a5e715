"""The SQLite file of a journal: its tables, how it is opened, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Literal

from artificer.errors import (
    ArtificerError,
    ConfigError,
    InvalidValueError,
    OperatorError,
    TamperedError,
)
from artificer.ports import Durability
from artificer.storage.chain import FORMAT, genesis
from artificer.system import sqlite_forks
from artificer.system.files import private_file, private_folder, sync_folder
from artificer.values.release import RELEASE

FAULTS = (sqlite3.Error, UnicodeDecodeError, InvalidValueError)
"""The errors of a failing file: those of the sqlite3 module, UnicodeDecodeError for a message of
SQLite's that quotes damaged text, and that of our values for a damaged row."""

_DIGITS = 9
"""The most digits of a format's number."""

APPLICATION_ID = 0x41727466
"""The application id in SQLite's header: "Artf"."""

TABLES = {
    # What the journal says of itself. The world chain starts from it, so it is covered too.
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "runs": (
        "CREATE TABLE runs (number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, "
        "epoch INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, seal TEXT NOT NULL) "
        "STRICT"
    ),
    "records": (
        "CREATE TABLE records (position INTEGER PRIMARY KEY, run TEXT NOT NULL, "
        "seq INTEGER NOT NULL, hash TEXT NOT NULL, body BLOB NOT NULL, world TEXT NOT NULL, "
        "UNIQUE (run, seq)) STRICT"
    ),
    # One row: where the world chain ends. A tail that was cut off shows by it.
    "tip": (
        "CREATE TABLE tip (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, "
        "world TEXT NOT NULL) STRICT"
    ),
    # Blobs committed with the record that cites them. They verify themselves, by their digest.
    "blobs": "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT",
    # Lines of the world's chain that are not records. The tables below are caches of the notes.
    "notes": (
        "CREATE TABLE notes (position INTEGER PRIMARY KEY, subject TEXT NOT NULL, "
        "hash TEXT NOT NULL, body BLOB NOT NULL, world TEXT NOT NULL) STRICT"
    ),
    "notes_subject": "CREATE INDEX notes_subject ON notes (subject)",
    # What people want of runs.
    "letters": (
        "CREATE TABLE letters (position INTEGER PRIMARY KEY, run TEXT NOT NULL, "
        "n INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (run, n)) STRICT"
    ),
    # Who owns which run: a cache of a fact that ends with its process, and no part of any chain.
    # A row whose epoch is not the run's was written before an older release acquired the run.
    "owners": (
        "CREATE TABLE owners (run TEXT PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT NOT NULL) "
        "STRICT, WITHOUT ROWID"
    ),
    # What requests of a day have cost (row 0), and may cost until they are settled or expire.
    "spending": (
        "CREATE TABLE spending (day TEXT NOT NULL, n INTEGER NOT NULL, tokens INTEGER NOT NULL, "
        "micros INTEGER NOT NULL, until INTEGER, PRIMARY KEY (day, n)) STRICT, WITHOUT ROWID"
    ),
    # Which blob each version of each workspace is; with a run, of its draft.
    "versions": (
        "CREATE TABLE versions (run TEXT NOT NULL, workspace TEXT NOT NULL, "
        "number INTEGER NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (run, workspace, number)) "
        "STRICT, WITHOUT ROWID"
    ),
}
"""The tables, all of which an older release's file gets when it is opened for writing."""


PAGE = 2048
"""Bytes of a page of a new file: a commit writes each page that it changes as a whole. A file that
an older release made keeps pages of 4,096 bytes."""

LOG_PAGES = 4_000
"""Pages of the log at which SQLite copies it back into the file, with two syncs. Its own default,
1,000, is 40 turns. With more than 4,062 a reader searches more than one table of the log's index:
https://sqlite.org/walformat.html#the_wal_index_file_format
"""


class Locked(OperatorError):
    """Another process holds the file. Nothing was written."""


def connect(path: Path, durability: Durability, busy_seconds: float) -> sqlite3.Connection:
    """Open the journal's file, making it when it is absent or empty.

    Raises:
        ConfigError: the file is not a journal, or one of a newer format.
        TamperedError: the file is damaged.
        OperatorError: the file cannot be opened, or is locked for longer than ``busy_seconds``.
        AuthorError: it was open in the process that has forked this one.
    """
    try:
        private_folder(path.parent)
        private_file(path)
    except OSError as error:
        raise ConfigError(
            f"The journal {path} cannot be created: {error}.",
            hint="Check the folder's permissions and the space on the disk.",
        ) from error
    db: sqlite3.Connection | None = None
    try:
        db = sqlite_forks.connect(path, busy_seconds)
        _configure(db, durability)
        if _is_empty(db):
            _create(db)
            _sync_folder(path.parent)
        check_format(db, path)
        _refuse(db, path, "trigger")
        _use_wal(db, path, busy_seconds)
        add_tables(db)
    except FAULTS as error:
        if db:
            db.close()
        raise designed(error, path) from error
    except ArtificerError:
        if db:
            db.close()
        raise
    return db


def _configure(db: sqlite3.Connection, durability: Durability) -> None:
    # In WAL mode FULL syncs the log at every commit; NORMAL only when the log is copied back, so
    # that a loss of power may take the last commits, but never the order or the file.
    db.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
    # Apple's fsync does not reach the platter; this asks for the call that does. No-op elsewhere.
    db.execute("PRAGMA fullfsync = ON")
    db.execute(f"PRAGMA page_size = {PAGE}")
    db.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
    db.execute("PRAGMA cell_size_check = ON")
    db.execute("PRAGMA trusted_schema = OFF")


def _is_empty(db: sqlite3.Connection) -> bool:
    return bool(
        db.execute("PRAGMA application_id").fetchone()[0] == 0
        and db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
    )


def _create(db: sqlite3.Connection) -> None:
    """Make the tables in one transaction; of several processes at once, one does it.

    This happens before the switch to WAL, so that a journal whose log is lost is still a journal.
    """
    db.execute("BEGIN EXCLUSIVE")
    if _is_empty(db):
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")  # it has an anchor: a missing one is reported
        for table in TABLES.values():
            db.execute(table)
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("format", str(FORMAT)), ("release", RELEASE)]
        )
        db.execute("INSERT INTO tip VALUES (1, 0, ?)", (genesis(FORMAT, RELEASE),))
    db.execute("COMMIT")


def add_tables(db: sqlite3.Connection) -> None:
    """Create the tables that a file from an older release of the same format lacks."""
    missing = _missing_tables(db)
    if missing:
        db.execute("BEGIN IMMEDIATE")
        for name in sorted(missing):
            what, _, rest = TABLES[name].partition(f" {name} ")
            db.execute(f"{what} IF NOT EXISTS {name} {rest}")
        db.execute("COMMIT")


def is_older(db: sqlite3.Connection) -> bool:
    """Whether a file is one that an older release made, and is not yet as this one makes them."""
    (found,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    return int(found) < FORMAT or bool(_missing_tables(db))


def _missing_tables(db: sqlite3.Connection) -> set[str]:
    return TABLES.keys() - {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}


def _sync_folder(folder: Path) -> None:
    """Make a new file's name survive a loss of power."""
    try:
        sync_folder(folder)
    except OSError as error:
        raise OperatorError(
            f"The folder {folder} of a new journal cannot be synced: {error}.",
            hint="Nothing was recorded. Check the disk, and try again.",
        ) from error


def check_format(db: sqlite3.Connection, path: Path) -> None:
    """Check that a file is a journal that this release can read.

    Raises:
        ConfigError: it is not a journal, or one of a newer format.
        TamperedError: it does not name its format, or has a view, which may answer as one of our
            tables and never come to its end.
    """
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise not_a_journal(path)
    _refuse(db, path, "view")
    meta = dict(db.execute("SELECT key, value FROM meta"))
    found = meta.get("format", "")
    if not found.isdecimal() or len(found) > _DIGITS or int(found) < 1:
        raise TamperedError(f"The journal {path} does not name its format.")
    if int(found) > FORMAT:
        raise ConfigError(
            f"The journal {path} has format {found}; this release reads up to format {FORMAT}.",
            hint=f"It was written by Artificer {meta.get('release')}: use that release or newer.",
        )


def _refuse(db: sqlite3.Connection, path: Path, kind: Literal["view", "trigger"]) -> None:
    """Raise TamperedError for a view or a trigger: no journal has one."""
    found = db.execute("SELECT name FROM sqlite_schema WHERE type = ?", (kind,)).fetchone()
    if found is not None:
        raise TamperedError(f"The journal {path} has a {kind}, {found[0]!r}: someone added it.")


def _use_wal(db: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
    """Switch to the write-ahead log, which stays on for the file.

    SQLite does not wait by itself when several connections switch at once, so this does.
    """
    give_up = time.monotonic() + busy_seconds
    while True:
        try:
            mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise ConfigError(
            f"The journal {path} cannot use a write-ahead log here.",
            hint="It needs a file system that supports shared memory: keep it off network drives.",
        )


def not_a_journal(path: Path) -> ConfigError:
    """Return the error for a file that is something else."""
    return ConfigError(
        f"{path} is not an Artificer journal.",
        hint="Check the path. If it was a journal, its header is damaged: restore a backup.",
    )


_LONGEST_PATH = 504
"""Bytes of the longest path that SQLite opens; the files next to it have longer names."""


def _out_of_reach(error: Exception, path: Path) -> OperatorError:
    if (size := len(bytes(path.resolve()))) > _LONGEST_PATH:
        return OperatorError(
            f"The path of {path.name} in {path.parent} has {size} bytes; SQLite opens none with "
            f"more than {_LONGEST_PATH}.",
            hint="Nothing was written. Name a home with a shorter path: --home or $ARTIFICER_HOME.",
        )
    if _may_only_read(path):
        return OperatorError(
            f"The journal {path} cannot be written here, only read.",
            hint="Nothing was changed. Run this as the user who owns the folder, where it can be "
            "written; commands that only read (runs, show, verify) work here.",
        )
    return OperatorError(
        f"The journal {path} cannot be read or written: {error}.",
        hint="Nothing was written. Check the disk and the permissions, then resume.",
    )


def _may_only_read(path: Path) -> bool:
    """Whether a file may be read here, and it or its folder may not be written."""
    return os.access(path, os.R_OK) and not (
        os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    )


def only_read(path: Path) -> OperatorError:
    """Return the error for writing to a journal that was opened to be read."""
    return OperatorError(
        f"The journal {path} is open for reading only; nothing was written.",
        hint="Open it as a World to write to it.",
    )


def is_busy(error: BaseException) -> bool:
    """Whether SQLite gave up waiting for another process's lock."""
    waits = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
    return _primary_code(error) in waits


def _primary_code(error: BaseException) -> int:
    # Extended codes keep the primary one in their low byte. Errors of the module itself (text
    # that is not UTF-8) have none.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def designed(error: Exception, path: Path) -> ArtificerError:
    """Return our error for one of SQLite's; one of ours is returned as it is.

    Whatever it was, the transaction was rolled back.
    """
    if isinstance(error, ArtificerError) and not isinstance(error, InvalidValueError):
        return error
    code = _primary_code(error)
    if code == sqlite3.SQLITE_NOTADB:
        return not_a_journal(path)
    if is_busy(error):
        return Locked(
            f"The journal {path} is locked by another process.",
            hint="Nothing was written. Try again when the other process is done with it.",
        )
    if code == sqlite3.SQLITE_FULL:
        return OperatorError(
            f"The disk of the journal {path} is full.",
            hint="Nothing was written. Free some space and resume.",
        )
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return _out_of_reach(error, path)
    what = "a row cannot be read" if isinstance(error, InvalidValueError) else error
    return TamperedError(
        f"The journal {path} is damaged: {what}.",
        hint="Run `artificer verify` to see what is affected; keep a copy before you repair it.",
    )

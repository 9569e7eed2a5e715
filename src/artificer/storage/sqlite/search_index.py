"""The index of a world's texts, in a SQLite file of its own, which may be deleted at any time.

The full-text table holds words without their texts (``content=''``): it can name a record and not
repeat it. Rows of such a table cannot be removed one by one, and merging would keep their words
for a while: so whatever is forgotten, all of it is, and the next search indexes the rest again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from artificer.errors import OperatorError
from artificer.ports import Found, IndexedText, Reached, TextQuery
from artificer.readonly import ReadOnlyDatabase
from artificer.storage.sqlite.cache import open_cache
from artificer.storage.sqlite.database import is_busy
from artificer.values.words import WORDS_VERSION, Term

T = TypeVar("T")

LAYOUT = 1
"""Version of the tables. An index of another one, or of other rules for words, is made again."""

_TABLES = (
    "CREATE TABLE about (one INTEGER PRIMARY KEY CHECK (one = 1), version TEXT NOT NULL, "
    "position INTEGER NOT NULL, world TEXT NOT NULL) STRICT",
    "CREATE TABLE runs (number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, "
    "kind TEXT NOT NULL) STRICT",
    "CREATE TABLE texts (position INTEGER PRIMARY KEY, run INTEGER NOT NULL, "
    "seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT",
    # Words come folded, with spaces between them; this tokenizer leaves them as they are.
    "CREATE VIRTUAL TABLE words USING fts5(body, content='', columnsize=0, prefix='2 3', "
    "tokenize='ascii')",
)
_VERSION = f"{LAYOUT}.{WORDS_VERSION}"
_EMPTY = (_VERSION, 0, "")
_NAMES = ("words", "texts", "runs", "about")

_FIND = """
SELECT texts.position, runs.run, texts.seq FROM words
JOIN texts ON texts.position = words.rowid JOIN runs ON runs.number = texts.run
WHERE words MATCH ? AND words.rowid < ? AND texts.at >= ? AND (? IS NULL OR runs.kind = ?)
ORDER BY words.rowid DESC LIMIT ?
"""

_UNUSABLE = (sqlite3.Error, OSError, UnicodeDecodeError)


class SqliteSearchIndex:
    """`SearchIndex` in the file ``path``, for any number of threads and processes.

    The file is made when something is first added. It is not synced: a loss of power may take it.
    With ``read_only`` it is used as far as it has come, and nothing is made or changed.
    """

    def __init__(self, path: Path, *, read_only: bool = False, busy_seconds: float = 2.0) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._db: sqlite3.Connection | None = None
        self._reading = ReadOnlyDatabase(path, busy_seconds=busy_seconds) if read_only else None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file. May be called more than once."""
        with self._lock:
            if self._reading is not None:
                self._reading.close()
            if self._db is not None:
                self._db.close()
                self._db = None

    def reached(self) -> Reached:
        """Return how far the index has come."""
        return Reached() if self._is_absent() else self._ask(_reached)

    def add(self, after: int, texts: Sequence[IndexedText], upto: Reached) -> bool:
        """Add all texts between two positions, in one transaction.

        False unless the index is at ``after``, or where it is only read.
        """
        if self._reading is not None:
            return False
        with self._writing() as db:
            if _reached(db).position != after:
                return False
            _write(db, texts)
            db.execute("UPDATE about SET position = ?, world = ?", (upto.position, upto.world))
        return True

    def find(self, query: TextQuery, before: int, limit: int) -> list[Found]:
        """Return the newest ``limit`` records at positions below ``before``, newest first."""
        if self._is_absent():
            return []
        words = " AND ".join(map(_match, query.terms))
        values = (words, before, query.since, query.kind, query.kind, limit)
        rows = self._ask(lambda db: db.execute(_FIND, values).fetchall() if _is_ours(db) else [])
        return [Found(*row) for row in rows]

    def clear(self) -> None:
        """Forget everything. What was deleted is overwritten."""
        if self._reading is not None or self._is_absent():
            return
        try:
            with self._writing() as db:
                _make(db)
            with self._opened() as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except OperatorError as error:
            if error.__cause__ is None or is_busy(error.__cause__):
                raise
            self._remove()  # it is damaged

    def _remove(self) -> None:
        self.close()
        for end in ("", "-wal", "-shm"):
            Path(f"{self._path}{end}").unlink(missing_ok=True)

    def _is_absent(self) -> bool:
        return self._db is None and not self._path.exists()

    def _ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        if self._reading is None:
            with self._opened() as db:
                return query(db)
        try:
            return self._reading.ask(query)
        except _UNUSABLE as error:
            raise self._unusable(error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._opened() as db:
            db.execute("BEGIN IMMEDIATE")
            if not _is_ours(db):
                _make(db)
            yield db
            db.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._db is None:
                    self._db = open_cache(
                        self._path, self._busy_seconds, ("PRAGMA secure_delete = ON",)
                    )
                yield self._db
            except _UNUSABLE as error:
                raise self._unusable(error) from error
            finally:
                if self._db is not None and self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _unusable(self, error: Exception) -> OperatorError:
        return OperatorError(
            f"{self._path} cannot be used: {error}.",
            hint="You may delete it: the next search makes it again.",
        )


def _is_ours(db: sqlite3.Connection) -> bool:
    """Whether the index is one of these rules."""
    known = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    if not known.issuperset(_NAMES):
        return False
    row = db.execute("SELECT version FROM about").fetchone()
    return row is not None and row[0] == _VERSION


def _make(db: sqlite3.Connection) -> None:
    for name in _NAMES:
        db.execute(f"DROP TABLE IF EXISTS {name}")
    for table in _TABLES:
        db.execute(table)
    db.execute("INSERT INTO about VALUES (1, ?, ?, ?)", _EMPTY)


def _reached(db: sqlite3.Connection) -> Reached:
    if not _is_ours(db):
        return Reached()
    return Reached(*db.execute("SELECT position, world FROM about").fetchone())


def _write(db: sqlite3.Connection, texts: Sequence[IndexedText]) -> None:
    numbers: dict[str, int] = {}
    for text in texts:
        if text.run not in numbers:
            row = (text.run, text.kind)
            db.execute("INSERT INTO runs (run, kind) VALUES (?, ?) ON CONFLICT DO NOTHING", row)
            query = "SELECT number FROM runs WHERE run = ?"
            (numbers[text.run],) = db.execute(query, (text.run,)).fetchone()
    db.executemany(
        "INSERT INTO texts VALUES (?, ?, ?, ?)",
        [(text.position, numbers[text.run], text.seq, text.at) for text in texts],
    )
    db.executemany(
        "INSERT INTO words (rowid, body) VALUES (?, ?)",
        [(text.position, " ".join(text.words)) for text in texts],
    )


def _match(term: Term) -> str:
    """Return a term in SQLite's language. Words hold letters and digits only."""
    return f'"{" ".join(term.words)}"{" *" if term.prefix else ""}'

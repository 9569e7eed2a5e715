"""The index of a world's texts, in a separate SQLite file, which may be deleted at any time.

The full-text table holds words without their texts (``content=''``): it can name a record and not
repeat it. Rows of such a table cannot be removed one by one, and merging would keep their words
for a while: so whatever is forgotten, all of it is, and the next search indexes the rest again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from artificer.ports import Found, IndexedText, Reached, TextQuery
from artificer.storage.sqlite.index_file import SqliteIndex
from artificer.values.words import WORDS_VERSION, Term

LAYOUT = 1
"""Version of the tables. An index of another one, or of other rules for words, is made again."""

_TABLES = {
    "runs": (
        "CREATE TABLE runs (number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, "
        "kind TEXT NOT NULL) STRICT"
    ),
    "texts": (
        "CREATE TABLE texts (position INTEGER PRIMARY KEY, run INTEGER NOT NULL, "
        "seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT"
    ),
    # Words come folded, with spaces between them; this tokenizer leaves them as they are.
    "words": (
        "CREATE VIRTUAL TABLE words USING fts5(body, content='', columnsize=0, prefix='2 3', "
        "tokenize='ascii')"
    ),
}

_FIND = """
SELECT texts.position, runs.run, texts.seq FROM words
JOIN texts ON texts.position = words.rowid JOIN runs ON runs.number = texts.run
WHERE words MATCH ? AND words.rowid < ? AND texts.at >= ? AND (? IS NULL OR runs.kind = ?)
ORDER BY words.rowid DESC LIMIT ?
"""


class SqliteSearchIndex(SqliteIndex):
    """`SearchIndex` in a file, for any number of threads and processes."""

    _version = f"{LAYOUT}.{WORDS_VERSION}"
    _tables = _TABLES

    def add(self, after: int, texts: Sequence[IndexedText], upto: Reached) -> bool:
        """Add all texts between two positions, in one transaction.

        False unless the index is at ``after``, or where it is only read.
        """
        return self._file.add(after, upto, lambda db: _write(db, texts))

    def find(self, query: TextQuery, before: int, limit: int) -> list[Found]:
        """Return the newest ``limit`` records at positions below ``before``, newest first."""
        values = (match_of(query.terms), before, query.since, query.kind, query.kind, limit)
        rows: list[Any] = self._file.ask(lambda db: db.execute(_FIND, values).fetchall(), [])
        return [Found(*row) for row in rows]


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


def match_of(terms: Sequence[Term]) -> str:
    """Return terms in SQLite's language. Words hold letters and digits only."""
    return " AND ".join(f'"{" ".join(term.words)}"{" *" if term.prefix else ""}' for term in terms)

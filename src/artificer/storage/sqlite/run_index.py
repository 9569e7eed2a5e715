"""The index of a world's runs, in a separate SQLite file, which may be deleted at any time."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from artificer.ports import IndexedRun, Reached, RunQuery
from artificer.ports.run_index import BEGINNING, above
from artificer.storage.sqlite.index_file import SqliteIndex
from artificer.storage.sqlite.search_index import match_of
from artificer.values.words import WORDS_VERSION

LAYOUT = 1
"""Version of the tables. An index of another one, or of other rules for words, is made again."""

_COLUMNS = (
    "run",
    "seq",
    "hash",
    "status",
    "begun",
    "changed",
    "kind",
    "model",
    "agent",
    "parent",
    "prompt",
    "waiting",
    "questions",
    "turns",
    "tokens",
    "cost_micros",
)
"""Members of `IndexedRun` that are kept as they are."""

_TABLES = {
    # The first run that was recorded has the lowest number. ``above`` begins the names of the runs
    # that a run starts.
    "runs": (
        "CREATE TABLE runs (number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, "
        "above TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, status TEXT NOT NULL, "
        "begun INTEGER NOT NULL, changed INTEGER NOT NULL, kind TEXT NOT NULL, "
        "model TEXT NOT NULL, agent TEXT NOT NULL, parent TEXT NOT NULL, prompt TEXT NOT NULL, "
        "waiting INTEGER NOT NULL, questions INTEGER NOT NULL, turns INTEGER, tokens INTEGER, "
        "cost_micros INTEGER) STRICT"
        ";CREATE INDEX runs_status ON runs (status)"
        ";CREATE INDEX runs_parent ON runs (parent) WHERE parent != ''"
        ";CREATE INDEX runs_waiting ON runs (waiting) WHERE waiting = 1"
    ),
    "texts": "CREATE TABLE texts (number INTEGER PRIMARY KEY, words TEXT NOT NULL) STRICT",
    "words": (
        "CREATE VIRTUAL TABLE words USING fts5(body, content='', columnsize=0, prefix='2 3', "
        "tokenize='ascii')"
    ),
}

_WITHOUT_BUILDS = (
    "(runs.above = '' OR NOT EXISTS (SELECT 1 FROM runs AS parents WHERE parents.run = runs.above))"
)


class SqliteRunIndex(SqliteIndex):
    """`RunIndex` in a file, for any number of threads and processes."""

    _version = f"{LAYOUT}.{WORDS_VERSION}"
    _tables = _TABLES

    def add(self, after: int, runs: Sequence[IndexedRun], upto: Reached) -> bool:
        """Add or replace runs, in one transaction.

        False unless the index is at ``after``, or where it is only read.
        """
        return self._file.add(after, upto, lambda db: _write(db, runs))

    def find(self, query: RunQuery, beyond: str | None, limit: int) -> list[IndexedRun]:
        """Return the first ``limit`` runs in the order of the query."""
        statement, values = _statement(query, beyond, limit)
        rows: list[Any] = self._file.ask(lambda db: db.execute(statement, values).fetchall(), [])
        return [_indexed(row) for row in rows]

    def counts(self) -> Mapping[str, int]:
        """Return how many runs stand in which way."""
        query = "SELECT status, count(*) FROM runs GROUP BY status"
        rows: list[Any] = self._file.ask(lambda db: db.execute(query).fetchall(), [])
        return dict(rows)

    def forget(self, run: str) -> None:
        """Forget what is known of a run. What was deleted is overwritten."""
        forgotten = IndexedRun(run, 0, "", "pruned")

        def write(db: sqlite3.Connection) -> None:
            if db.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone():
                _write(db, [forgotten])

        self._file.change(write)


def _indexed(row: tuple[Any, ...]) -> IndexedRun:
    members = dict(zip(_COLUMNS, row, strict=True))
    return IndexedRun(**{**members, "waiting": bool(members["waiting"])})


def _statement(query: RunQuery, beyond: str | None, limit: int) -> tuple[str, list[object]]:
    """Return a query in SQLite's language, and its values."""
    number = "words.rowid" if query.terms else "runs.number"
    conditions = {
        "words MATCH ?": match_of(query.terms) or None,
        f"{number} {'>' if query.oldest_first else '<'} "
        "(SELECT number FROM runs WHERE run = ?)": beyond,
        "runs.status = ?": query.status,
        "runs.kind = ?": query.kind,
        "instr(runs.model, ?)": query.model or None,
        "instr(runs.agent, ?)": query.agent or None,
        "runs.parent = ? AND runs.parent != ''": query.parent or None,
        "runs.waiting = 1 AND ?": query.waiting or None,
        "runs.status = 'open' AND runs.seq <= ?": BEGINNING if query.queued else None,
        "runs.begun >= ?": query.since or None,
        "runs.begun < ?": query.until,
        f"{_WITHOUT_BUILDS} AND ?": None if query.builds else True,
    }
    wanted = {text: value for text, value in conditions.items() if value is not None}
    columns = ", ".join(f"runs.{name}" for name in _COLUMNS)
    source = "words CROSS JOIN runs ON runs.number = words.rowid" if query.terms else "runs"
    where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
    order = f"ORDER BY {number} {'ASC' if query.oldest_first else 'DESC'} LIMIT ?"
    return f"SELECT {columns} FROM {source} {where}{order}", [*wanted.values(), limit]


def _write(db: sqlite3.Connection, runs: Sequence[IndexedRun]) -> None:
    """Add or replace runs. One whose words are other ones now, as after it was pruned, has all
    words indexed again: single ones cannot be removed."""
    changed = False
    for run in runs:
        values = [getattr(run, name) for name in _COLUMNS]
        words = " ".join(run.words)
        found = db.execute(
            "SELECT number, words FROM runs JOIN texts USING (number) WHERE run = ?", (run.run,)
        ).fetchone()
        if found is None:
            (number,) = db.execute(_INSERT, [above(run.run), *values]).fetchone()
            db.execute("INSERT INTO texts VALUES (?, ?)", (number, words))
            db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, words))
            continue
        number, before = found
        db.execute(_UPDATE, [*values[1:], number])
        if before != words:
            db.execute("UPDATE texts SET words = ? WHERE number = ?", (words, number))
            changed = True
    if changed:
        db.execute("DROP TABLE words")
        db.execute(_TABLES["words"])
        db.execute("INSERT INTO words (rowid, body) SELECT number, words FROM texts")


_INSERT = (
    f"INSERT INTO runs (above, {', '.join(_COLUMNS)}) "
    f"VALUES (?{', ?' * len(_COLUMNS)}) RETURNING number"
)

_UPDATE = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _COLUMNS[1:])} WHERE number = ?"

"""Auditing a world in PostgreSQL, and putting its tables back as its notes say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, LiteralString

from psycopg import Connection, sql

from artificer.storage.audit import StoredNote, StoredRecord, StoredRun, Tip, find_problems
from artificer.storage.chain import FORMAT, genesis, next_world
from artificer.storage.notes import parse_note
from artificer.storage.postgres.chaining import End, end_of, end_problem, waiting
from artificer.storage.postgres.identity import KEYS
from artificer.storage.postgres.reader import snapshot
from artificer.storage.postgres.tables import LAYOUT
from artificer.storage.postgres.transaction import PostgresTransaction
from artificer.storage.recomputed import Caches, Recomputed

_RUNS: LiteralString = "SELECT number, run, epoch, seq, hash, seal FROM runs ORDER BY number"
_RECORDS: LiteralString = (
    "SELECT c.position, c.world, xid::text, entry, r.run, r.seq, r.hash, r.body "
    "FROM records r LEFT JOIN chain c USING (xid, entry) ORDER BY c.position, r.xid, r.entry"
)
_NOTES: LiteralString = (
    "SELECT c.position, c.world, xid::text, entry, n.subject, n.hash, n.body "
    "FROM notes n LEFT JOIN chain c USING (xid, entry) ORDER BY c.position, n.xid, n.entry"
)
_SKIPPED: LiteralString = """
SELECT count(*) FROM (
  SELECT xid, entry FROM records UNION ALL SELECT xid, entry FROM notes
) AS entries LEFT JOIN chain c USING (xid, entry), tip
WHERE c.position IS NULL AND (entries.xid, entries.entry) <= (tip.xid, tip.entry)
"""

ChainPlace = tuple[int, str]
"""A position in the world's chain, and the world's hash there."""

ChainPlaces = Mapping[tuple[str, int], ChainPlace]
"""The places of entries, by transaction and number."""


def audit(db: Connection, *, cached: bool = True) -> list[str]:
    """Return what is wrong with the world, each as one sentence; empty when nothing is.

    Entries that have not joined the chain yet are checked as if they had.
    """
    with snapshot(db):
        meta: dict[str, str] = dict(db.execute("SELECT key, value FROM meta").fetchall())
        layout = meta.pop("layout", "1")
        known = layout.isdecimal() and 0 < int(layout) <= LAYOUT
        lost = meta.pop("lost", "")
        if (
            meta.keys() - KEYS != {"format", "release"}
            or meta["format"] != str(FORMAT)
            or not known
        ):
            return [f"The journal's description of itself was changed: {meta}."]
        (skipped,) = db.execute(_SKIPPED).fetchone() or (0,)
        if skipped:
            return [f"{skipped} records or notes were added before the end of the world's chain."]
        end = end_of(db)
        places = _places_to_be(db, end)
        tip = Tip(*list(places.values())[-1]) if places else end.tip
        problems = find_problems(
            genesis(FORMAT, meta["release"]),
            (StoredRun(*row) for row in _stream(db, "runs", _RUNS)),
            _records(_stream(db, "records", _RECORDS), places),
            tip,
            _notes(_stream(db, "notes", _NOTES), places),
            _caches(db) if cached else None,
        )
        problems = problems or list(filter(None, [end_problem(db)]))
        return [lost, *problems] if lost else problems


def _places_to_be(db: Connection, end: End) -> dict[tuple[str, int], ChainPlace]:
    """The places of what has not joined the chain, in order, when it will have."""
    position, world = end.tip.position, end.tip.world
    places = {}
    for xid, entry, hash_ in waiting(db, end, limit=None):
        position, world = position + 1, next_world(world, hash_)
        places[xid, entry] = (position, world)
    return places


def _records(rows: Iterable[Any], places: ChainPlaces) -> Iterator[StoredRecord]:
    for position, world, xid, entry, run, seq, hash_, body in rows:
        at, there = (position, world) if position is not None else places[xid, entry]
        yield StoredRecord(at, run, seq, hash_, body, there)


def _notes(rows: Iterable[Any], places: ChainPlaces) -> Iterator[StoredNote]:
    for position, world, xid, entry, subject, hash_, body in rows:
        at, there = (position, world) if position is not None else places[xid, entry]
        yield StoredNote(at, subject, hash_, body, there)


def _caches(db: Connection) -> Caches:
    return Caches(
        signals=_stream(
            db, "signals", "SELECT position, run, n, body FROM signals ORDER BY position"
        ),
        spending=_stream(db, "spending", "SELECT account, n, tokens, micros, until FROM spending"),
        versions=_stream(db, "versions", "SELECT run, workspace, number, digest FROM versions"),
    )


def _stream(db: Connection, name: str, query: LiteralString) -> Iterator[Any]:
    """The rows of a query, a few at a time: a world may not fit into memory."""
    with db.cursor(name) as cursor:
        cursor.execute(query, binary=True)
        yield from cursor


def rebuild(work: PostgresTransaction) -> list[str]:
    """Put back budgets and versions, and remove signals that nobody posted; say what was done.

    The text of a signal is nowhere else: one that was changed or removed stays a problem.
    """
    work.begin_notes()
    noted = Recomputed()
    for (body,) in work.db.execute("SELECT body FROM notes ORDER BY xid, entry").fetchall():
        note = parse_note(body)
        if note is not None:
            noted.take(note)
    spending = {(*key, *amounts) for key, amounts in noted.spending().items()}
    versions = {(*key, digest) for key, digest in noted.versions.items()}
    return [
        *_put_back(work.db, "spending", spending),
        *_put_back(work.db, "versions", versions),
        *_remove_smuggled(work.db, {(signal.run, signal.n) for signal in noted.signals}),
    ]


def _put_back(db: Connection, table: str, rows: Set[tuple[object, ...]]) -> list[str]:
    name = sql.Identifier(table)
    if {*db.execute(sql.SQL("SELECT * FROM {}").format(name)).fetchall()} == rows:
        return []
    db.execute(sql.SQL("DELETE FROM {}").format(name))
    places = sql.SQL(", ").join(sql.Placeholder() * len(next(iter(rows), ())))
    if rows:
        db.cursor().executemany(
            sql.SQL("INSERT INTO {} VALUES ({})").format(name, places), list(rows)
        )
    return [f"put the table of {table} back as the notes say"]


def _remove_smuggled(db: Connection, posted: Set[tuple[str, int]]) -> list[str]:
    found = {*db.execute("SELECT run, n FROM signals").fetchall()} - posted
    db.cursor().executemany("DELETE FROM signals WHERE run = %s AND n = %s", list(found))
    return [f"removed signal {n} to run {run}, which was never posted" for run, n in sorted(found)]

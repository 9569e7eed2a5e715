"""Reading a journal's file to audit it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from artificer.storage.audit import StoredNote, StoredRecord, StoredRun, Tip, find_problems, limited
from artificer.storage.chain import FORMAT, genesis
from artificer.storage.recomputed import Caches
from artificer.storage.sqlite.database import FAULTS, TABLES
from artificer.storage.sqlite.reader import snapshot

NOTED = ("notes", "notes_subject", "versions")
"""Tables that a journal of format 1 does not have."""


def audit(db: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the file, each as one sentence; empty when nothing is.

    A file whose structure is damaged is not read any further: its rows could be anything.
    """
    try:
        with snapshot(db):
            meta = dict(db.execute("SELECT key, value FROM meta"))
            problems = _structure_problems(db, meta)
            return limited(problems) or _content_problems(db, meta)
    except FAULTS as error:
        return [f"SQLite cannot read the file: {error}."]


def chain_is_whole(db: sqlite3.Connection) -> bool:
    """Whether all records and notes are as they were written, whatever the other tables say."""
    with snapshot(db):
        meta = dict(db.execute("SELECT key, value FROM meta"))
        problems = [*_structure_problems(db, meta)]
        return not (problems or _content_problems(db, meta, cached=False))


def _structure_problems(db: sqlite3.Connection, meta: dict[str, str]) -> Iterator[str]:
    for (finding,) in db.execute("PRAGMA integrity_check"):
        if finding != "ok":
            yield f"SQLite's integrity check finds: {finding}."
    schema = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    absent = NOTED if meta.get("format") == "1" and "notes" not in schema else ()
    for name in sorted((schema.keys() | TABLES.keys()) - set(absent)):
        if schema.get(name) != TABLES.get(name):
            yield f"The table, index, view or trigger {name} is not as it was made."


def _content_problems(
    db: sqlite3.Connection, meta: dict[str, str], *, cached: bool = True
) -> list[str]:
    began = meta.get("began", meta.get("format", ""))
    known = meta.keys() - {"began"} == {"format", "release"}
    if not known or not began.isdecimal() or ("began" in meta and meta["format"] != str(FORMAT)):
        return [f"The journal's description of itself was changed: {meta}."]
    tip = db.execute("SELECT position, world FROM tip").fetchone()
    if tip is None:
        return ["The journal does not say where its world chain ends."]
    runs = (StoredRun(*row) for row in db.execute("SELECT * FROM runs ORDER BY number"))
    records = (StoredRecord(*row) for row in db.execute("SELECT * FROM records ORDER BY position"))
    start = genesis(int(began), meta["release"])
    if meta["format"] == "1" and not _has_notes(db):
        return find_problems(start, runs, records, Tip(*tip))
    notes = (StoredNote(*row) for row in db.execute("SELECT * FROM notes ORDER BY position"))
    end, upgraded = Tip(*tip), "began" in meta
    caches = _caches(db) if cached else None
    return find_problems(start, runs, records, end, notes, caches, upgraded=upgraded)


def _caches(db: sqlite3.Connection) -> Caches:
    return Caches(
        signals=db.execute("SELECT position, run, n, body FROM letters ORDER BY position"),
        spending=db.execute("SELECT day, n, tokens, micros, until FROM spending"),
        versions=db.execute("SELECT run, workspace, number, digest FROM versions"),
    )


def _has_notes(db: sqlite3.Connection) -> bool:
    known = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    return "notes" in known and db.execute("SELECT 1 FROM notes LIMIT 1").fetchone() is not None

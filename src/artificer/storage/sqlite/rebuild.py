"""Restoring tables from the notes, if the chain of the notes is intact."""

from __future__ import annotations

from collections.abc import Set

from artificer.storage.notes import parse_note
from artificer.storage.recomputed import Recomputed
from artificer.storage.sqlite.transaction import Transaction


def rebuild(work: Transaction) -> list[str]:
    """Put back budgets and versions, and remove signals that nobody posted; say what was done.

    The text of a signal is nowhere else: one that was changed or removed stays a problem.
    """
    noted = Recomputed()
    for (body,) in work.db.execute("SELECT body FROM notes ORDER BY position"):
        note = parse_note(body)
        if note is not None:
            noted.take(note)
    spending = {(*key, *amounts) for key, amounts in noted.spending().items()}
    versions = {(*key, digest) for key, digest in noted.versions.items()}
    return [
        *_put_back(work, "spending", "day, n, tokens, micros, until", spending),
        *_put_back(work, "versions", "run, workspace, number, digest", versions),
        *_remove_smuggled(work, {(signal.run, signal.n) for signal in noted.signals}),
    ]


def _put_back(
    work: Transaction, table: str, columns: str, rows: Set[tuple[object, ...]]
) -> list[str]:
    if {*work.db.execute(f"SELECT {columns} FROM {table}")} == rows:
        return []
    work.db.execute(f"DELETE FROM {table}")
    places = ", ".join("?" * len(columns.split(", ")))
    work.db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", rows)
    return [f"put the table of {table} back as the notes say"]


def _remove_smuggled(work: Transaction, posted: set[tuple[str, int]]) -> list[str]:
    found = {*work.db.execute("SELECT run, n FROM letters")} - posted
    work.db.executemany("DELETE FROM letters WHERE run = ? AND n = ?", found)
    return [f"removed signal {n} to run {run}, which was never posted" for run, n in sorted(found)]

"""Upgrading a journal from format 1 to 2: the contents of its tables are noted in the chain.

Until then signals, budgets and versions of workspaces stood in no chain, and the versions in their
own file, ``workspaces.db`` next to the journal. From then on a row without a note is tampering, so
this happens once, in one transaction.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from artificer.errors import ArtificerError, TamperedError
from artificer.storage.budget import LARGEST
from artificer.storage.chain import FORMAT
from artificer.storage.notes import BudgetReserved, BudgetSettled, ChainingBegan, SignalPosted
from artificer.storage.sqlite.anchor import Anchor
from artificer.storage.sqlite.transaction import Transaction, commit
from artificer.values.canon import digest_of

OLDER_VERSIONS = "workspaces.db"
"""Where the versions were. The file is left as it is, and no longer read."""


def upgrade(db: sqlite3.Connection, path: Path, anchor: Anchor | None) -> None:
    """Bring a journal to this format, if it is of an older one.

    ``db`` may be a copy of the one at ``path``, where the versions of workspaces are looked for.

    Raises:
        TamperedError: it, or the file of versions next to it, is damaged.
        OperatorError: it cannot be written.
    """
    if _format(db) == FORMAT:
        return
    (outcome,) = commit(db, path, [lambda work: _upgrade(work, path)], anchor)
    if isinstance(outcome, ArtificerError):
        raise outcome


def _format(db: sqlite3.Connection) -> int:
    (found,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    return int(found)


def _upgrade(work: Transaction, path: Path) -> None:
    db = work.db
    if _format(db) == FORMAT:
        return  # another process was first
    versions = _older_versions(path.with_name(OLDER_VERSIONS))
    if db.execute("SELECT 1 FROM notes UNION ALL SELECT 1 FROM versions").fetchone():
        raise TamperedError(f"The journal {path} has notes, which its format does not allow.")
    work.note(ChainingBegan())
    _note_signals(work)
    _note_spending(work)
    for run, name, number, digest in versions:
        work.add_version(name, number, digest, run)
    db.execute("INSERT INTO meta SELECT 'began', value FROM meta WHERE key = 'format'")
    db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))


def _note_signals(work: Transaction) -> None:
    rows = work.db.execute("SELECT run, n, body FROM letters ORDER BY position").fetchall()
    for run, n, body in rows:
        work.note(SignalPosted(run=run, n=n, body=digest_of(body)))


def _note_spending(work: Transaction) -> None:
    work.db.execute(
        "UPDATE spending SET tokens = min(tokens, ?1), micros = min(micros, ?1)", (LARGEST,)
    )
    rows = work.db.execute("SELECT day, n, tokens, micros, until FROM spending").fetchall()
    for day, n, tokens, micros, until in rows:
        amount = {"account": day, "reservation": str(n), "tokens": tokens, "micros": micros}
        if until is None:
            work.note(BudgetSettled(**amount))
        else:
            work.note(BudgetReserved(**amount, at=0, until=until))


def _older_versions(path: Path) -> list[tuple[str, str, int, str]]:
    """Read the versions, each after the one before it. Raises TamperedError."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            if not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                return []  # its maker died before it wrote
            rows = db.execute(
                "SELECT run, workspace, number, digest FROM versions "
                "ORDER BY run, workspace, number"
            ).fetchall()
    except sqlite3.Error as error:
        raise _damaged(path, str(error)) from error
    heads: dict[tuple[str, str], int] = {}
    for run, name, number, _ in rows:
        if number != heads.get((run, name), 0) + 1:
            raise _damaged(path, f"version {number} of {name!r} does not follow the one before it")
        heads[run, name] = number
    return rows


def _damaged(path: Path, what: str) -> TamperedError:
    return TamperedError(
        f"{path} is damaged: {what}.",
        hint="It holds the versions of this world's workspaces: restore it from a backup.",
    )

"""The signals to runs, in PostgreSQL: any process on any machine can post one."""

from __future__ import annotations

from collections.abc import Callable

from psycopg import Connection

from artificer.errors import TamperedError
from artificer.storage.chain import check_name
from artificer.storage.notes import SignalPosted, read_note, signals_of
from artificer.storage.postgres.connection import Server
from artificer.storage.postgres.reader import snapshot
from artificer.storage.postgres.writer import PostgresWriter
from artificer.values.canon import digest_of


class PostgresSignals:
    """The `Signals` of a world in PostgreSQL, numbered from 1 in each run."""

    def __init__(self, writer: PostgresWriter, server: Server, now: Callable[[], int]) -> None:
        self._now = now
        self._writer = writer
        self._server = server

    async def post(self, run: str, body: bytes) -> int:
        """Post a signal, durably, and return its number.

        Raises:
            OperatorError: the run has had MAX_SIGNALS, or the database could not be written.
        """
        check_name(run)
        return await self._writer.perform(lambda work: work.post(run, body, self._now()))

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Return the run's signals with a number greater than ``after``, in order.

        Raises:
            TamperedError: one of them is not what was posted.
        """
        return await self._server.ask(lambda db: _read(db, run, after))

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Return the position now, and the runs that got signals since an earlier one."""
        return await self._server.ask(lambda db: _since(db, position))


def _read(db: Connection, run: str, after: int) -> list[tuple[int, bytes]]:
    with snapshot(db):
        found = db.execute(
            "SELECT n, body FROM signals WHERE run = %s AND n > %s ORDER BY n", (run, after)
        ).fetchall()
        posted = _posted(db, run, after)
        for n in sorted({n for n, _ in found} ^ posted.keys()):
            raise _tampered(run, n)
        for n, body in found:
            if digest_of(body) != posted[n] and not (body == b"" and _is_pruned(db, run)):
                raise _tampered(run, n)
    return found


def _posted(db: Connection, run: str, after: int) -> dict[int, str]:
    """The digests of the signals with a number greater than ``after``, as the notes say."""
    notes = db.execute(
        "SELECT hash, body FROM notes WHERE subject = %s ORDER BY entry DESC", (signals_of(run),)
    )
    posted: dict[int, str] = {}
    for row in notes:
        note = read_note(*row)
        if not isinstance(note, SignalPosted) or note.n <= after:
            break
        posted[note.n] = note.body
    return posted


def _is_pruned(db: Connection, run: str) -> bool:
    query = "SELECT 1 FROM records WHERE run = %s AND seq = 1 AND body = ''"
    return db.execute(query, (run,)).fetchone() is not None


def _tampered(run: str, n: int) -> TamperedError:
    return TamperedError(
        f"Signal {n} to run {run} was changed after it was posted; it was ignored.",
        hint="Run `artificer verify` to see what else was changed.",
    )


def _since(db: Connection, position: int | None) -> tuple[int, frozenset[str]]:
    if position is None:
        (now,) = db.execute("SELECT coalesce(max(position), 0) FROM signals").fetchone() or (0,)
        return now, frozenset()
    rows = db.execute(
        "SELECT position, run FROM signals WHERE position > %s", (position,)
    ).fetchall()
    return max((row[0] for row in rows), default=position), frozenset(row[1] for row in rows)

"""Purses: what a world has spent on a day, and what requests under way may still cost."""

from __future__ import annotations

import secrets
import sqlite3

from artificer.journal.reader import Reader
from artificer.journal.writer import Writer
from artificer.ports import Allowed, Amount, Spent

UNLIMITED = 2**60
"""Stands for no limit in the one statement that compares and adds."""

MOST = 2**53
"""A total that is not counted further, whatever a provider says: sums stay what SQLite can hold."""

# The settled total of a day is its row 0; every other row is a reservation.
_RESERVE = """
INSERT INTO spending (day, n, tokens, micros, until)
SELECT :day, :n, :tokens, :micros, :until
WHERE :tokens + (
    SELECT coalesce(sum(tokens), 0) FROM spending
    WHERE day = :day AND (until IS NULL OR until > :now)
) <= :most_tokens AND :micros + (
    SELECT coalesce(sum(micros), 0) FROM spending
    WHERE day = :day AND (until IS NULL OR until > :now)
) <= :most_micros
"""

_SETTLE = """
INSERT INTO spending (day, n, tokens, micros, until) VALUES (:day, 0, :tokens, :micros, NULL)
ON CONFLICT (day, n) DO UPDATE SET
    tokens = min(tokens + excluded.tokens, :most), micros = min(micros + excluded.micros, :most)
"""

_SPENT = """
SELECT coalesce(sum(tokens) FILTER (WHERE until IS NULL), 0),
       coalesce(sum(micros) FILTER (WHERE until IS NULL), 0),
       coalesce(sum(tokens) FILTER (WHERE until > ?), 0),
       coalesce(sum(micros) FILTER (WHERE until > ?), 0)
FROM spending WHERE day = ?
"""


def _new_number() -> int:
    """A number that no other reservation has, in any process."""
    return secrets.randbits(60) + 1


class MemoryPurse:
    """The purse of a world that lives as long as its process."""

    def __init__(self) -> None:
        self._settled: dict[str, Amount] = {}
        self._reserved: dict[tuple[str, int], tuple[Amount, int]] = {}

    async def reserve(
        self, day: str, need: Amount, most: Allowed, *, now: int, until: int
    ) -> int | None:
        """Reserve an amount; None when that would be more than a day may cost."""
        self._reserved = {key: held for key, held in self._reserved.items() if held[1] > now}
        spent = await self.spent(day, now)
        if not most.holds(spent.settled + spent.reserved + need):
            return None
        number = _new_number()
        self._reserved[day, number] = (need, until)
        return number

    async def settle(self, day: str, number: int, true: Amount) -> None:
        """Put what a request has really cost in the place of its reservation."""
        self._reserved.pop((day, number), None)
        self._settled[day] = self._settled.get(day, Amount()) + true

    async def spent(self, day: str, now: int) -> Spent:
        """What a day has cost, and what is reserved of it."""
        reserved = Amount()
        for (of, _), (amount, until) in self._reserved.items():
            if of == day and until > now:
                reserved += amount
        return Spent(self._settled.get(day, Amount()), reserved)


class SqlitePurse:
    """The purse in a journal's file: all processes of the machine spend from it."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def reserve(
        self, day: str, need: Amount, most: Allowed, *, now: int, until: int
    ) -> int | None:
        """Reserve an amount; None when that would be more than a day may cost."""
        facts = {
            "day": day,
            "n": _new_number(),
            "tokens": min(need.tokens, MOST),
            "micros": min(need.micros, MOST),
            "until": until,
            "now": now,
            "most_tokens": UNLIMITED if most.tokens is None else most.tokens,
            "most_micros": UNLIMITED if most.micros is None else most.micros,
        }
        return await self._writer.perform(lambda work: work.write(lambda db: _reserve(db, facts)))

    async def settle(self, day: str, number: int, true: Amount) -> None:
        """Put what a request has really cost in the place of its reservation."""
        await self._writer.perform(
            lambda work: work.write(lambda db: _settle(db, day, number, true))
        )

    async def spent(self, day: str, now: int) -> Spent:
        """What a day has cost, and what is reserved of it."""
        row = await self._reader.ask(lambda db: db.execute(_SPENT, (now, now, day)).fetchone())
        return Spent(Amount(row[0], row[1]), Amount(row[2], row[3]))


def _reserve(db: sqlite3.Connection, facts: dict[str, object]) -> int | None:
    db.execute("DELETE FROM spending WHERE until <= ?", (facts["now"],))
    done = db.execute(_RESERVE, facts)
    number = facts["n"]
    assert isinstance(number, int)
    return number if done.rowcount == 1 else None


def _settle(db: sqlite3.Connection, day: str, number: int, true: Amount) -> None:
    db.execute("DELETE FROM spending WHERE day = ? AND n = ?", (day, number))
    tokens, micros = min(true.tokens, MOST), min(true.micros, MOST)
    db.execute(_SETTLE, {"day": day, "tokens": tokens, "micros": micros, "most": MOST})

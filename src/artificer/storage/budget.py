"""Purses: what a world has spent on a day, and what requests under way may still cost."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from artificer.errors import TamperedError
from artificer.ports import Allowed, Amount, Correction, Spent
from artificer.storage.notes import BudgetCorrected, BudgetReserved, BudgetSettled, spent_from
from artificer.storage.reader import Reader
from artificer.storage.transaction import Transaction
from artificer.storage.writer import Writer

UNLIMITED = 2**60
"""Stands for no limit in the one statement that compares and adds."""

MOST = 2**53 - 1
"""A total that is not counted further, whatever a provider says: sums stay
what SQLite and canonical JSON can hold."""

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

_SETTLE = "INSERT OR REPLACE INTO spending (day, n, tokens, micros) VALUES (?, 0, ?, ?)"

_SETTLED = "SELECT tokens, micros FROM spending WHERE day = ? AND n = 0"

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


Noted = Callable[[BudgetReserved | BudgetSettled | BudgetCorrected], object]


class MemoryPurse:
    """The purse of a world that lives as long as its process. ``noted`` hears of each change."""

    def __init__(self, noted: Noted = lambda _: None) -> None:
        self._settled: dict[str, Amount] = {}
        self._reserved: dict[tuple[str, int], tuple[Amount, int]] = {}
        self._noted = noted

    async def reserve(
        self, day: str, need: Amount, most: Allowed, *, now: int, until: int
    ) -> int | None:
        """Reserve an amount; None when that would be more than a day may cost."""
        spent = await self.spent(day, now)
        if not most.holds(spent.settled + spent.reserved + need):
            return None
        number, need = _new_number(), _bounded(need)
        self._noted(_reservation(day, number, need, now, until))
        self._reserved[day, number] = (need, until)
        self._reserved = {key: held for key, held in self._reserved.items() if held[1] > now}
        return number

    async def settle(self, day: str, number: int, true: Amount) -> None:
        """Put what a request has really cost in the place of its reservation."""
        total = _bounded(self._settled.get(day, Amount()) + _bounded(true))
        self._noted(_settlement(day, number, total))
        self._reserved.pop((day, number), None)
        self._settled[day] = total

    async def spent(self, day: str, now: int) -> Spent:
        """What a day has cost, and what is reserved of it."""
        reserved = Amount()
        for (of, _), (amount, until) in self._reserved.items():
            if of == day and until > now:
                reserved += amount
        return Spent(self._settled.get(day, Amount()), reserved)

    async def correct(self, day: str, correction: Correction) -> Amount:
        """Put what a day has cost right, and return its total after it."""
        total = correction.of(self._settled.get(day, Amount()))
        self._noted(_corrected(day, total, correction))
        self._settled[day] = total
        return total

    def rows(self) -> list[tuple[str, int, int, int, int | None]]:
        """Every account's total (its row 0) and every reservation, as the table has them."""
        totals = [
            (day, 0, spent.tokens, spent.micros, None) for day, spent in self._settled.items()
        ]
        held = [
            (*key, held.tokens, held.micros, end) for key, (held, end) in self._reserved.items()
        ]
        return [*totals, *held]


class SqlitePurse:
    """The purse in a journal's file: all processes of the machine spend from it."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def reserve(
        self, day: str, need: Amount, most: Allowed, *, now: int, until: int
    ) -> int | None:
        """Reserve an amount; None when that would be more than a day may cost."""
        limits = (
            UNLIMITED if most.tokens is None else most.tokens,
            UNLIMITED if most.micros is None else most.micros,
        )
        note = _reservation(day, number := _new_number(), _bounded(need), now, until)
        done = await self._writer.perform(lambda work: _reserve(work, note, number, limits))
        return number if done else None

    async def settle(self, day: str, number: int, true: Amount) -> None:
        """Put what a request has really cost in the place of its reservation."""
        await self._writer.perform(lambda work: _settle(work, day, number, _bounded(true)))

    async def spent(self, day: str, now: int) -> Spent:
        """What a day has cost, and what is reserved of it."""
        row = await self._reader.ask(lambda db: db.execute(_SPENT, (now, now, day)).fetchone())
        return Spent(Amount(row[0], row[1]), Amount(row[2], row[3]))

    async def correct(self, day: str, correction: Correction) -> Amount:
        """Put what a day has cost right, and return its total after it."""
        return await self._writer.perform(lambda work: _correct(work, day, correction))


def _reserve(work: Transaction, note: BudgetReserved, number: int, limits: tuple[int, int]) -> bool:
    _settled(work, note.account)
    facts = {"day": note.account, "n": number, "tokens": note.tokens, "micros": note.micros}
    times = {"until": note.until, "now": note.at}
    most = dict(zip(("most_tokens", "most_micros"), limits, strict=True))
    if work.db.execute(_RESERVE, {**facts, **times, **most}).rowcount != 1:
        return False
    work.db.execute("DELETE FROM spending WHERE until <= ?", (note.at,))
    work.note(note)
    return True


def _settle(work: Transaction, day: str, number: int, true: Amount) -> None:
    total = _bounded(_settled(work, day) + true)
    work.note(_settlement(day, number, total))
    work.db.execute("DELETE FROM spending WHERE day = ? AND n = ?", (day, number))
    work.db.execute(_SETTLE, (day, total.tokens, total.micros))


def _correct(work: Transaction, day: str, correction: Correction) -> Amount:
    total = correction.of(_settled(work, day))
    work.note(_corrected(day, total, correction))
    work.db.execute(_SETTLE, (day, total.tokens, total.micros))
    return total


def _settled(work: Transaction, day: str) -> Amount:
    """Return a day's total, if its row and its last note agree."""
    row, note = work.db.execute(_SETTLED, (day,)).fetchone(), work.last(spent_from(day))
    noted = (
        (note.tokens, note.micros) if isinstance(note, BudgetSettled | BudgetCorrected) else None
    )
    if row != noted:
        raise TamperedError(
            f"What {day} has cost is not what the journal says of it.",
            hint="Run `artificer verify` to see what differs; `artificer fsck --repair` puts the "
            "table back as the journal says.",
        )
    return Amount(*noted) if noted else Amount()


def _bounded(amount: Amount) -> Amount:
    return Amount(min(amount.tokens, MOST), min(amount.micros, MOST))


def _reservation(day: str, number: int, need: Amount, now: int, until: int) -> BudgetReserved:
    return BudgetReserved(
        account=day,
        reservation=str(number),
        tokens=need.tokens,
        micros=need.micros,
        at=now,
        until=until,
    )


def _settlement(day: str, number: int, total: Amount) -> BudgetSettled:
    return BudgetSettled(
        account=day, reservation=str(number), tokens=total.tokens, micros=total.micros
    )


def _corrected(day: str, total: Amount, correction: Correction) -> BudgetCorrected:
    return BudgetCorrected(
        account=day,
        tokens=total.tokens,
        micros=total.micros,
        by=correction.by,
        reason=correction.reason,
        at=correction.at,
    )

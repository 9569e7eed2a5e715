"""The tables of signals, budgets and versions, recomputed from the notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct, field

from artificer.storage.notes import (
    BudgetCorrected,
    BudgetReserved,
    BudgetSettled,
    ChainingBegan,
    Note,
    RunImported,
    SignalPosted,
    VersionAdded,
)
from artificer.values.canon import digest_of

Amounts = tuple[int, int, int | None]


class Caches(Struct, frozen=True):
    """The rows of the tables that follow from notes; those of signals by their position."""

    signals: Iterable[tuple[int, str, int, bytes]] = ()
    spending: Iterable[tuple[str, int, int, int, int | None]] = ()
    versions: Iterable[tuple[str, str, int, str]] = ()


class Recomputed(Struct):
    """The contents of the tables after the notes that were taken."""

    signals: list[SignalPosted] = field(default_factory=list)
    totals: dict[str, tuple[int, int]] = field(default_factory=dict)
    reserved: dict[tuple[str, int], tuple[int, int, int]] = field(default_factory=dict)
    versions: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def take(self, note: Note) -> None:
        """Follow a note."""
        match note:
            case SignalPosted():
                self.signals.append(note)
            case BudgetReserved():
                key = (note.account, int(note.reservation))
                self.reserved[key] = (note.tokens, note.micros, note.until)
                self._expire(note.at)
            case BudgetSettled():
                self.reserved.pop((note.account, int(note.reservation)), None)
                self.totals[note.account] = (note.tokens, note.micros)
            case BudgetCorrected():
                self.totals[note.account] = (note.tokens, note.micros)
            case VersionAdded():
                self.versions[note.run, note.workspace, note.number] = note.digest
            case RunImported() | ChainingBegan():
                pass

    def _expire(self, now: int) -> None:
        expired = [key for key, (_, _, until) in self.reserved.items() if until <= now]
        for key in expired:
            del self.reserved[key]

    def compare(self, found: Caches, erased: Collection[str]) -> Iterator[str]:
        """Report where tables differ. ``erased`` are runs whose signals may be empty."""
        yield from self._signals(found, erased)
        for account, n in _differing(self.spending(), {row[:2]: row[2:] for row in found.spending}):
            what = "A reservation" if n else "The total"
            yield f"{what} of the budget {account} is not what the notes say."
        versions = {row[:3]: row[3] for row in found.versions}
        for run, name, n in _differing(self.versions, versions):
            whose = f"run {run}'s draft of the workspace" if run else "the workspace"
            yield f"Version {n} of {whose} {name!r} is not what the notes say."

    def spending(self) -> dict[tuple[str, int], Amounts]:
        """The rows of budgets: an account's total is its row 0."""
        totals: dict[tuple[str, int], Amounts] = {
            (account, 0): (*spent, None) for account, spent in self.totals.items()
        }
        return {**totals, **self.reserved}

    def _signals(self, found: Caches, erased: Collection[str]) -> Iterator[str]:
        rows = {(run, n): (position, body) for position, run, n, body in found.signals}
        for position, note in enumerate(self.signals, 1):
            row = rows.pop((note.run, note.n), None)
            name = f"Signal {note.n} to run {note.run}"
            if row is None:
                yield f"{name} is missing."
            elif digest_of(row[1]) != note.body and not (row[1] == b"" and note.run in erased):
                yield f"{name} is not what was posted."
            elif row[0] != position:
                yield f"{name} was number {position} of the world, and its row says {row[0]}."
        for run, n in sorted(rows):
            yield f"Signal {n} to run {run} was never posted."


K = TypeVar("K", bound=tuple[str | int, ...])


def _differing(noted: Mapping[K, object], found: Mapping[K, object]) -> Iterator[K]:
    for key in sorted(noted.keys() | found.keys()):
        if noted.get(key) != found.get(key):
            yield key

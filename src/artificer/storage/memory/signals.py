"""The signals to runs, in memory."""

from __future__ import annotations

from collections.abc import Callable

from artificer.ports.clock import wall_time
from artificer.storage.chain import check_name, next_signal
from artificer.storage.notes import SignalPosted
from artificer.values.canon import digest_of


class MemorySignals:
    """The `Signals` of a world that lives as long as its process.

    ``noted`` is called with each one before it is there; ``now`` is the time in milliseconds.
    """

    def __init__(
        self,
        noted: Callable[[SignalPosted], object] = lambda _: None,
        now: Callable[[], int] = wall_time,
    ) -> None:
        self._signals: dict[str, list[bytes]] = {}
        self._first: dict[str, int] = {}
        self._posted: list[str] = []
        self._noted = noted
        self._now = now

    async def post(self, run: str, body: bytes) -> int:
        """Post a signal and return its number.

        Raises:
            OperatorError: the run has had MAX_SIGNALS.
        """
        check_name(run)
        signals = self._signals.setdefault(run, [])
        n = next_signal(run, self._first.get(run, 1) + len(signals) - 1)
        self._noted(SignalPosted(run=run, n=n, body=digest_of(body), at=self._now()))
        signals.append(body)
        self._posted.append(run)
        return n

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Return the run's signals with a number greater than ``after``, in order."""
        return [(n, body) for n, body in self._numbered(run) if n > after]

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Return the position now, and the runs that got signals since an earlier one."""
        now = len(self._posted)
        return now, frozenset(self._posted[now if position is None else position :])

    def empty(self, run: str) -> None:
        """Remove what a run's signals say; their numbers stay."""
        self._signals[run] = [b""] * len(self._signals.get(run, []))

    def follow(self, run: str, taken: int) -> None:
        """Count on from the signals that an imported run took elsewhere."""
        self._first[run] = taken + 1

    def rows(self) -> list[tuple[int, str, int, bytes]]:
        """Every signal: its position, its run, its number and what it says."""
        waiting = {run: iter(self._numbered(run)) for run in self._signals}
        return [(at, run, *next(waiting[run])) for at, run in enumerate(self._posted, 1)]

    def _numbered(self, run: str) -> list[tuple[int, bytes]]:
        return list(enumerate(self._signals.get(run, []), self._first.get(run, 1)))

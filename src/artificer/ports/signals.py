"""The port to the signals of runs."""

from __future__ import annotations

from typing import Protocol

MAX_SIGNALS = 10_000
"""The most signals that a run can get."""


class Signals(Protocol):
    """The signals to the runs of a world. They are kept: a run records which ones it has read."""

    async def post(self, run: str, body: bytes) -> int:
        """Post a signal, durably, and return its number, counted from 1 in its run.

        Raises:
            OperatorError: the run has had MAX_SIGNALS.
        """

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Return the run's signals with a number greater than ``after``, in order."""

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Return the current position, and the runs that got signals since an earlier one.

        With None, only the position.
        """

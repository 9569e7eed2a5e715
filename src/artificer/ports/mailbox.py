"""The seam to the letters of runs."""

from __future__ import annotations

from typing import Protocol

MAX_LETTERS = 10_000
"""Most letters that a run can get."""


class Mailbox(Protocol):
    """Letters for whoever drives a run. They stay: a run remembers which ones it has taken."""

    async def post(self, run: str, body: bytes) -> int:
        """Leave a letter, durably, and return its number, counted from 1 in its run.

        Raises:
            OperatorError: the run has had MAX_LETTERS.
        """

    async def letters(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """The run's letters with a number greater than ``after``, in order."""

    async def news(self, position: int | None) -> tuple[int, frozenset[str]]:
        """The position now, and the runs that got letters since an earlier one.

        With None, only the position.
        """

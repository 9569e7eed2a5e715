"""Progress reports of long work on a whole world."""

from __future__ import annotations

from collections.abc import Callable

ReportProgress = Callable[[str, int, int], None]
"""Called with a step (``verifying runs``), how many of its items are done, and how many there are.

The last is 0 if nobody knows it. A call must be short, and may come from any thread.
"""


def unreported(step: str, done: int, total: int) -> None:
    """Report nothing."""

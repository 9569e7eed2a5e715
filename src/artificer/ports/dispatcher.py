"""The seam to what hands runs to workers: who executes a run, and when.

The journal alone says how a run stands, and its epochs fence every append. What a dispatcher knows
may be lost or wrong at any time: that costs time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct

from artificer.core.submission import USUAL


class RunOver(Struct, frozen=True, tag="over"):
    """The run is over."""


class Parked(Struct, frozen=True, tag="parked"):
    """The run waits for a signal, or for ``seconds`` if that is how long.

    ``refused`` says that it cannot be executed here, and that another worker may be able to.
    """

    seconds: float | None = None
    refused: bool = False


class AwaitsRuns(Struct, frozen=True, tag="awaits"):
    """The run waits for these runs, which it started."""

    runs: tuple[str, ...]


SegmentEnd = RunOver | Parked | AwaitsRuns
"""How a segment ended: one stretch of a run's execution, in one process, until the run is idle."""

ExecuteSegment = Callable[[str, str], Awaitable[SegmentEnd]]
"""Execute a run in this process until it is idle; takes its id, and the cause: why now.

Cancelling it leaves the run resumable. It raises nothing but bugs: a run that cannot be executed
now is parked.
"""

CANCEL = "cancel:"
"""The beginning of a cause that ends a run; the reason follows."""


class DispatchedRun(Struct, frozen=True):
    """A run to be executed by a worker, with the members of its `Submission`."""

    run: str
    priority: int = USUAL
    tenant: str = ""
    lane: str = ""


class Dispatcher(Protocol):
    """Hands runs to the processes that serve them."""

    async def submit(self, wanted: DispatchedRun) -> None:
        """Have a run executed. Nothing happens if it is dispatched already.

        Raises:
            OperatorError: the dispatcher cannot be reached, or holds as many runs as it can.
        """

    async def wake(self, run: str, cause: str) -> None:
        """Have a parked run executed again. One that is not dispatched is left to the sweeper.

        Raises:
            OperatorError: the dispatcher cannot be reached.
        """

    async def cancel(self, run: str, reason: str) -> None:
        """Have a segment executed with the cause `CANCEL`, even while another one is under way.

        Raises:
            OperatorError: the dispatcher cannot be reached.
        """

    async def serve(self, execute: ExecuteSegment, slots: int, grace_s: float = 0) -> None:
        """Execute runs, at most ``slots`` at once, until the task is cancelled.

        Then no more are begun, and those under way are cancelled after ``grace_s``, and awaited.

        Raises:
            OperatorError: the dispatcher cannot be reached.
        """

    async def aclose(self) -> None:
        """Close the connections. It may be called more than once."""

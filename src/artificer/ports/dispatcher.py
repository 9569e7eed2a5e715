"""The port to dispatchers, which hand runs to workers: who executes a run, and when.

Only the journal has a run's status, and its epochs fence every append. A dispatcher's data may be
lost or wrong at any time: that costs time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Set
from typing import Protocol, runtime_checkable

from msgspec import Struct

from artificer.core.submission import USUAL


class RunOver(Struct, frozen=True, tag="over"):
    """The run has ended."""


class Parked(Struct, frozen=True, tag="parked"):
    """The run waits for a signal, or for ``seconds`` if that is set.

    ``refused`` says that it cannot be executed here, and that another worker may be able to.
    """

    seconds: float | None = None
    refused: bool = False


class AwaitsRuns(Struct, frozen=True, tag="awaits"):
    """The run waits for these runs, which it started."""

    runs: tuple[str, ...]


SegmentEnd = RunOver | Parked | AwaitsRuns
"""The end of a segment: a stretch of a run's execution in one process, until it is idle."""

ExecuteSegment = Callable[[str, str], Awaitable[SegmentEnd]]
"""Execute a run in this process until it is idle; takes its id and the cause.

The cause is ``submitted`` for a new run, ``timer`` when the time of a parked one is over, and what
`Dispatcher.wake` or `Dispatcher.cancel` was called with. Logs show it.

Cancelling it leaves the run resumable. It raises only internal errors: a run that cannot be
executed now is parked.
"""

CANCEL = "cancel:"
"""The prefix of a cause that ends a run; the reason follows."""


class DispatchedRun(Struct, frozen=True):
    """A run for a worker to execute, with the members of its `Submission`."""

    run: str
    priority: int = USUAL
    tenant: str = ""
    lane: str = ""


class Dispatcher(Protocol):
    """Hands runs to the processes that execute them."""

    async def submit(self, wanted: DispatchedRun) -> None:
        """Have a run executed. Has no effect if it is already dispatched.

        Raises:
            OperatorError: the dispatcher cannot be reached, or is full.
        """

    async def wake(self, run: str, cause: str) -> None:
        """Have a parked run executed again. One that is not dispatched is left to the sweeper.

        Raises:
            OperatorError: the dispatcher cannot be reached.
        """

    async def cancel(self, run: str, reason: str) -> None:
        """Have a segment executed with the cause `CANCEL`, even while another one is in progress.

        Raises:
            OperatorError: the dispatcher cannot be reached.
        """

    async def serve(self, execute: ExecuteSegment, slots: int, grace_s: float = 0) -> None:
        """Execute runs, at most ``slots`` at once, until the task is cancelled.

        Then it starts no more, cancels those in progress after ``grace_s``, and waits for them.

        Raises:
            OperatorError: the dispatcher cannot be reached.
        """

    async def aclose(self) -> None:
        """Close the connections. It may be called more than once."""


class LaneFull(Exception):
    """A segment was not started because its lane is full. ``seconds`` is when to try again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class RunLanes(Protocol):
    """The lanes of one worker; all workers of a world share their limits."""

    @property
    def closed(self) -> Set[str]:
        """The lanes that are known to be full, or being checked, in this process."""

    def ask(self, lane: str) -> bool:
        """Close a lane while one of its runs requests a permit; return whether it has limits."""

    def open(self, lane: str, opened: Callable[[], None]) -> None:
        """Reopen a lane whose permits may be requested again, and call ``opened``."""

    def execute(
        self,
        execute: ExecuteSegment,
        wanted: DispatchedRun,
        cause: str,
        opened: Callable[[], None] = ...,
    ) -> Awaitable[SegmentEnd]:
        """Execute a segment in the lane of its run; a cancellation needs no permit.

        A lane that is full or being checked is closed until ``opened`` is called. Awaiting this
        raises LaneFull.
        """


class RunAssignments(Protocol):
    """The runs that a world with several workers has assigned to this one."""

    async def execute(self, execute: ExecuteSegment, run: str, cause: str) -> SegmentEnd:
        """Execute a segment of a run, unless another worker has the run: then it is parked."""

    async def hand_over(self, run: str, hand: Callable[[], Awaitable[None]]) -> None:
        """Hand a new run to a server that gives it to a worker, unless another process just did."""

    async def leave(self) -> None:
        """Leave all runs to other workers, which continue them at once."""


class DispatcherPlace(Struct, frozen=True):
    """Where a dispatcher is. ``url`` is the setting, ``world`` a name of the world.

    ``lanes`` are those of its runs. ``assigned`` are the runs of this worker if the world assigns
    them; None otherwise, and for a program that only submits.
    """

    url: str
    world: str
    lanes: RunLanes
    assigned: RunAssignments | None = None


@runtime_checkable
class DispatcherKind(Protocol):
    """A kind of dispatcher, offered in the entry-point group ``artificer.dispatchers``."""

    async def open(self, place: DispatcherPlace) -> Dispatcher:
        """Open a dispatcher. Raises ConfigError, MissingExtraError, OperatorError."""

"""The seam to what hands runs to workers: who executes a run, and when.

The journal alone says how a run stands, and its epochs fence every append. What a dispatcher knows
may be lost or wrong at any time: that costs time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Set
from typing import Protocol, runtime_checkable

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


class LaneFull(Exception):
    """A segment was not begun, because its lane has no room. ``seconds`` is when to try again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class RunLanes(Protocol):
    """The lanes of one worker, whose limits all workers of a world share."""

    @property
    def closed(self) -> Set[str]:
        """The lanes that are found out to be full, or being asked, here."""

    def ask(self, lane: str) -> bool:
        """Close a lane that has limits, while a run of it asks for room; return whether it has."""

    def open(self, lane: str, opened: Callable[[], None]) -> None:
        """Open a lane whose room may be asked for again, and call ``opened``."""

    def execute(
        self,
        execute: ExecuteSegment,
        wanted: DispatchedRun,
        cause: str,
        opened: Callable[[], None] = ...,
    ) -> Awaitable[SegmentEnd]:
        """Execute a segment in the lane of its run; a cancellation needs no room.

        Where there is none, the lane is closed, until ``opened`` is called; and while it is asked.
        Awaiting it raises LaneFull.
        """


class RunAssignments(Protocol):
    """The runs that a world with several workers has assigned to this one."""

    async def execute(self, execute: ExecuteSegment, run: str, cause: str) -> SegmentEnd:
        """Execute a segment of a run, unless another worker has the run: then it is parked."""

    async def hand_over(self, run: str, hand: Callable[[], Awaitable[None]]) -> None:
        """Hand a new run to a server that gives it to a worker, unless another one just did."""

    async def leave(self) -> None:
        """Leave all runs to others, which go on with them at once."""


class DispatcherPlace(Struct, frozen=True):
    """Where a dispatcher is. ``url`` is the setting, ``world`` a name of the world.

    ``lanes`` are those of its runs. ``assigned`` are the runs of this worker, where the world
    assigns them; None otherwise, and for a program that only submits.
    """

    url: str
    world: str
    lanes: RunLanes
    assigned: RunAssignments | None = None


@runtime_checkable
class DispatcherKind(Protocol):
    """A kind of dispatcher, as the entry-point group ``artificer.dispatchers`` offers it."""

    async def open(self, place: DispatcherPlace) -> Dispatcher:
        """Open a dispatcher. Raises ConfigError, MissingExtraError, OperatorError."""

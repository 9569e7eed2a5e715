"""The port to assignments: which worker of a world has which run.

They only save workers from starting what another one executes. The journal lets one process own a
run whatever is stored here; all of this may be lost.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

AssignmentStanding = Literal["executing", "parked", "refused", "left", "over"]
"""A worker's relation to its run: it executes it; it waits with it until the run can continue; it
cannot execute it, and another one may; it has left it to others; the run has ended, or is in the
hands of a server that gives it to workers."""

Assigned = Literal["first", "ours", "elsewhere", "over"]
"""The answer to a worker that asks for a run: the worker has it, and nobody has asked before; the
worker has it; another one has it; or the run has ended."""

OVER_KEPT_S = 60
"""How long an ended run is remembered, so that late workers need not look at it."""

RUNS_AT_ONCE = 1_000
"""Lost runs that one worker gets at once."""


class Assignments(Protocol):
    """The assignments of runs to workers. A worker is identified by its owner's name.

    An owner's assignments are lost when its lease ends. All methods raise OperatorError when the
    storage cannot be reached.
    """

    async def take(self, run: str, owner: str, *, again: bool) -> Assigned:
        """Request a run. A run of another worker is given only if that one is not executing it.

        ``again`` says that something has happened to the run since it was submitted. Without it, no
        worker gets a run that another one waits with, or that has just ended.
        """

    async def put(self, run: str, owner: str, standing: AssignmentStanding) -> None:
        """Record the standing of a run. Has no effect if another worker has it now."""

    async def leave(self, owner: str) -> None:
        """Leave all of a worker's runs to others."""

    async def lost(self, owner: str) -> list[str]:
        """Assign this worker runs that no worker has any more, and return them.

        Runs that it has refused itself are left out.
        """


@runtime_checkable
class HasAssignments(Protocol):
    """A storage that assigns runs to workers on several machines."""

    @property
    def assignments(self) -> Assignments:
        """The assignments of runs to workers."""

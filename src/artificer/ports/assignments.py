"""The seam to what workers of one world agree on: which of them has which run.

It spares them to begin what another one executes, and nothing more. The journal lets one process
own a run, whatever stands here; all of this may be lost.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

AssignmentStanding = Literal["executing", "parked", "refused", "left", "over"]
"""How a run stands with its worker: it executes it; it waits with it until the run can go on; it
cannot execute it, and another one may; it has left it to others; the run is over, or in the hands
of a server that gives it to workers."""

Assigned = Literal["first", "ours", "elsewhere", "over"]
"""The answer to a worker that asks for a run: the worker has it, and nobody has asked before; the
worker has it; another one has it; or the run is over."""

OVER_KEPT_S = 60
"""How long it is known that a run is over: workers that come late need not look at it."""

RUNS_AT_ONCE = 1_000
"""Lost runs that one worker gets at once."""


class Assignments(Protocol):
    """Which worker has which run. An owner's name stands for a worker.

    What an owner has is lost when its lease has ended. All methods raise OperatorError when the
    storage cannot be reached.
    """

    async def take(self, run: str, owner: str, *, again: bool) -> Assigned:
        """Ask for a run. Another worker's is given only if it does not execute it now.

        ``again`` says that something has happened to the run since it was submitted. Without it,
        nobody gets a run that another one waits with, or that was over a moment ago.
        """

    async def put(self, run: str, owner: str, standing: AssignmentStanding) -> None:
        """Say how a run stands. Nothing happens to one that another worker has now."""

    async def leave(self, owner: str) -> None:
        """Leave all of a worker's runs to others."""

    async def lost(self, owner: str) -> list[str]:
        """Assign runs to this worker that no worker has any more, and return them.

        Those that it has refused itself are not among them.
        """


@runtime_checkable
class HasAssignments(Protocol):
    """A storage that assigns runs to workers on several machines."""

    @property
    def assignments(self) -> Assignments:
        """Which worker has which run."""

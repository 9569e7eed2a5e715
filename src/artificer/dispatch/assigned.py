"""Runs that several workers of one world find: each is begun by the one that it is assigned to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal

from artificer.errors import ArtificerError
from artificer.ownership.local import LocalOwner
from artificer.ports import (
    CANCEL,
    Assigned,
    Assignments,
    AssignmentStanding,
    ExecuteSegment,
    LaneFull,
    Parked,
    RunOver,
    SegmentEnd,
)
from artificer.world import World, storage_of

log = logging.getLogger("artificer.dispatch.assigned")

SUBMITTED = "submitted"
"""The cause of a run's first segment with a dispatcher: nothing has happened to the run since."""

OURS: tuple[Assigned, ...] = ("first", "ours")
"""The answers that give a run to the worker that asked."""

Leading = Literal["first", "yes", "no"]
"""Whether a worker looks at all runs: as the first of all, as before or after another one, not."""

ALL_RUNS = "*"
"""Assigned as if it were a run: looking at all of them. No run has this id."""

UNKNOWN_S = 2.0
"""Seconds until a run is tried again of which the storage could not say who has it."""


class AssignedRuns:
    """The runs that are assigned to this process, as ``owner``."""

    def __init__(self, assignments: Assignments, owner: LocalOwner) -> None:
        self._assignments = assignments
        self._owner = owner

    @property
    def id(self) -> str:
        """The name of the worker."""
        return self._owner.id

    async def execute(self, execute: ExecuteSegment, run: str, cause: str) -> SegmentEnd:
        """Execute a segment of a run, unless another worker has the run: then it is parked.

        A cancellation is executed at once: it is posted to the process that executes the run.
        """
        if cause.startswith(CANCEL):
            return await execute(run, cause)
        try:
            await self._owner.ready()  # without a lease, all would be lost
            whose = await self._assignments.take(run, self._owner.id, again=cause != SUBMITTED)
        except ArtificerError as error:
            log.warning(
                "it is not known which worker has run %s: %s",
                run,
                error.message,
                extra={"run": run},
            )
            return Parked(UNKNOWN_S)
        if whose not in OURS:
            return RunOver() if whose == "over" else Parked()
        standing: AssignmentStanding = "left"
        try:
            end = await execute(run, cause)
            standing = _standing(end)
            return end
        except LaneFull:
            standing = "parked"  # here, until the lane has room
            raise
        finally:
            with suppress(ArtificerError):  # it is lost with our lease, or asked for again
                await self._assignments.put(run, self._owner.id, standing)

    async def hand_over(self, run: str, hand: Callable[[], Awaitable[None]]) -> None:
        """Hand a new run to a server that gives it to a worker, unless another one just did.

        For a while it then counts as one that has ended. Raises what ``hand`` does.
        """
        try:
            await self._owner.ready()
            whose = await self._assignments.take(run, self._owner.id, again=False)
        except ArtificerError as error:  # rather twice than not at all
            log.warning(
                "it is not known which worker has handed run %s over: %s",
                run,
                error.message,
                extra={"run": run},
            )
            whose = "ours"
        if whose not in OURS:
            return
        standing: AssignmentStanding = "left"
        try:
            await hand()
            standing = "over"
        finally:
            with suppress(ArtificerError):
                await self._assignments.put(run, self._owner.id, standing)

    async def leads(self) -> Leading:
        """Return whether this worker is the one that looks at all runs. Raises OperatorError.

        Also whether nobody did: then nothing is known of any run, as after a crash of the database.
        """
        await self._owner.ready()
        found = await self._assignments.take(ALL_RUNS, self._owner.id, again=False)
        return "first" if found == "first" else "yes" if found in OURS else "no"

    async def lost(self) -> list[str]:
        """Return runs that no worker has any more: they are this one's now. Raises OperatorError.

        A worker whose process is gone from this host has them no more, whatever its lease says.
        """
        for gone in await asyncio.to_thread(self._owner.gone_here):
            await self._assignments.leave(gone)
        return [run for run in await self._assignments.lost(self._owner.id) if run != ALL_RUNS]

    async def leave(self) -> None:
        """Leave all runs to others, which continue with them at once."""
        with suppress(ArtificerError):
            await self._assignments.leave(self._owner.id)


def assigned_runs(world: World) -> AssignedRuns | None:
    """Return the runs that a world assigns to this process; None if it assigns none."""
    storage = storage_of(world)
    return AssignedRuns(storage.assignments, storage.owner) if storage.assignments else None


def _standing(end: SegmentEnd) -> AssignmentStanding:
    if isinstance(end, RunOver):
        return "over"
    return "refused" if isinstance(end, Parked) and end.refused else "parked"

"""The topmost caller of a run: the run that is executed when something happens to one below it."""

from __future__ import annotations

from artificer.core.state import RunState
from artificer.ports import Storage
from artificer.runtime.snapshot import restore

MAX_CALLERS = 20
"""How far up the callers of a run are looked for."""


async def state_of(storage: Storage, run: str) -> RunState:
    """Return how a run stands. Raises NotFoundError, TamperedError."""
    return (await restore(storage.journal, storage.blobs, storage.snapshots, run)).state


async def topmost(storage: Storage, run: str) -> tuple[str, RunState]:
    """Return the topmost caller that is not over; the run itself where none waits for it.

    A run that another one has started goes on as a part of that one. Raises NotFoundError,
    TamperedError.
    """
    state = await state_of(storage, run)
    for _ in range(MAX_CALLERS):
        parent = state.run_spec.parent
        if state.status is not None or not parent:
            break
        above = await state_of(storage, parent)
        if above.status is not None:
            break
        run, state = parent, above
    return run, state

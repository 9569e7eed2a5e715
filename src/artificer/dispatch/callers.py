"""The callers of a run: which run is executed when something happens to one below it."""

from __future__ import annotations

from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.errors import ArtificerError
from artificer.ports import Storage
from artificer.runtime.snapshot import restore
from artificer.wiring.families import caller_ended, parent_of

MAX_CALLERS = 20
"""How far up the callers of a run are looked for."""


async def state_of(storage: Storage, run: str) -> RunState:
    """Return how a run stands. Raises NotFoundError, TamperedError."""
    return (await restore(storage.journal, storage.blobs, storage.snapshots, run)).state


def caller_of(run: str, spec: RunSpec) -> str:
    """Return the run that called the agent of one that workers execute apart; empty for others."""
    return parent_of(run, spec) if spec.submission is not None else ""


async def ended_with(storage: Storage, caller: str) -> str:
    """Return why a run is to end: its caller was ended. Empty where it was not, or is none."""
    if not caller:
        return ""
    try:
        return caller_ended(await state_of(storage, caller))
    except ArtificerError:  # it was pruned, or cannot be read
        return ""


async def topmost(storage: Storage, run: str, *, submitted: bool = False) -> tuple[str, RunState]:
    """Return the topmost caller that is not over; the run itself where none waits for it.

    A run that another one has started goes on as a part of that one. But workers execute one that
    was ``submitted`` itself apart from its caller. Raises NotFoundError, TamperedError.
    """
    state = await state_of(storage, run)
    for _ in range(MAX_CALLERS):
        parent = state.run_spec.parent
        if state.status is not None or not parent:
            break
        if submitted and state.run_spec.submission is not None:
            break
        above = await state_of(storage, parent)
        if above.status is not None:
            break
        run, state = parent, above
    return run, state

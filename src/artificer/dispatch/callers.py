"""The callers of a run: which run is executed when something happens to one below it."""

from __future__ import annotations

import time

from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.errors import ArtificerError
from artificer.ports import Storage
from artificer.runtime.snapshot import state_of
from artificer.wiring.families import caller_ended, parent_of

KNOWN_S, MAX_KNOWN = 2.0, 10_000
"""For how many seconds, and for how many callers, it is known whether they were ended."""

MAX_CALLERS = 20
"""How far up the callers of a run are looked for."""


def caller_of(run: str, spec: RunSpec) -> str:
    """Return the run that called the agent of one that workers execute apart; empty for others."""
    return parent_of(run, spec) if spec.submission is not None else ""


class EndedCallers:
    """Why runs are to end: their callers were ended. Each caller is read once in a while."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[str, tuple[float, str]] = {}

    async def why(self, caller: str) -> str:
        """Return why the runs that this one has called are to end; empty if they are not."""
        if not caller:
            return ""
        now = time.monotonic()
        at, why = self._known.get(caller, (float("-inf"), ""))
        if at <= now - KNOWN_S:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            why = await self._read(caller)
            self._known[caller] = now, why
        return why

    async def _read(self, caller: str) -> str:
        try:
            return caller_ended(await state_of(self._storage, caller))
        except ArtificerError:  # it was pruned, or cannot be read
            return ""


async def topmost(storage: Storage, run: str, *, submitted: bool = False) -> tuple[str, RunState]:
    """Return the topmost caller that is not over; the run itself where none waits for it.

    A run that another one has started continues as a part of that one. But workers execute one that
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

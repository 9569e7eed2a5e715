"""The current state of the runs that a run's open calls wait for, if workers execute them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from artificer.core.state import RunPhase, RunState
from artificer.core.waits import CallWait, idle_standing
from artificer.errors import ArtificerError
from artificer.ports import Storage
from artificer.runtime.snapshot import state_of


class AwaitedRun(Struct, frozen=True):
    """A run that an open call waits for. ``state`` is None for one that nobody can continue."""

    wait: CallWait
    state: RunState | None

    @property
    def is_over(self) -> bool:
        """Whether the call has its result, or will never have one."""
        return self.state is None or self.state.phase is RunPhase.FINISHED

    @property
    def is_submitted(self) -> bool:
        """Whether workers execute it, apart from its caller."""
        return self.state is not None and self.state.run_spec.submission is not None

    @property
    def goes_on(self) -> bool:
        """Whether it continues by itself: nobody has to do anything."""
        return not self.is_over and self._standing == "open"

    @property
    def is_news(self) -> bool:
        """Whether it stands otherwise than its caller has recorded."""
        return self.is_over or self._standing != self.wait.standing

    @property
    def _standing(self) -> str:
        return "" if self.state is None else idle_standing(self.state.standing)


async def awaited(storage: Storage, run: str, state: RunState) -> list[AwaitedRun]:
    """Return the runs that a run waits for. A journal that names strangers leads nowhere."""
    return [AwaitedRun(wait, await _child(storage, run, wait.run)) for wait in state.waits]


async def some_go_on(storage: Storage, run: str, waits: Sequence[CallWait]) -> bool:
    """Whether one of the runs that a run waits for continues by itself: the last is asked first."""
    for wait in reversed(waits):
        child = AwaitedRun(wait, await _child(storage, run, wait.run))
        if child.is_submitted and child.goes_on:
            return True
    return False


async def _child(storage: Storage, run: str, child: str) -> RunState | None:
    if not child.startswith(f"{run}."):
        return None
    try:
        found = await state_of(storage, child)
    except ArtificerError:  # it was pruned, or cannot be read: performing the call says so
        return None
    return found if found.run_spec.parent == run else None


def held_back(state: RunState) -> bool:
    """Whether a call of the turn has not begun, and waits for the result of another one."""
    under_way = {pending.call_id for pending in state.pending}
    return any(call.status is None and call.id not in under_way for call in state.calls)

"""The checklists of runs, and what people tick off in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass

from msgspec import Struct

from artificer.artifacts.ticked import TickedChecklist
from artificer.core.signals import Tick
from artificer.core.state import RunState
from artificer.core.ticks import Objection, objection
from artificer.errors import ConflictError, Fenced, NotFoundError, OperatorError, OwnedError
from artificer.events import ArtifactCreated, ItemTicked, RunEvent
from artificer.runtime.snapshot import state_of
from artificer.runtime.ticks import checklist, checklists, record_ticks
from artificer.values.parameters import named_parameters
from artificer.wiring.engines import idle_engine
from artificer.wiring.resources import WorldResources
from artificer.wiring.signals import post

LOOK_S = 1.0
"""Seconds between two looks for what another process has recorded."""

LOOKS, PAUSE_S = 40, 0.05
"""How often, and how many seconds apart, to look whether a tick was recorded."""


class Ticked(Struct, frozen=True):
    """The outcome of a tick. One that is not recorded yet is kept, and recorded on resumption."""

    checklist: TickedChecklist
    recorded: bool


def last_change(events: Iterable[RunEvent]) -> int:
    """Return the number of the last record that changed a checklist; 0 if none did."""
    changes = [e.seq for e in events if isinstance(e, (ItemTicked, ArtifactCreated))]
    return max(changes, default=0)


@named_parameters()
@dataclass(frozen=True)
class Checklists:
    """The checklists of one world.

    >>> (todo,) = await world.checklists.read(run.id)
    >>> await world.checklists.tick(run.id, "todo", "milk", by="Ada")
    """

    _resources: WorldResources

    async def read(self, run_id: str) -> tuple[TickedChecklist, ...]:
        """Return the checklists of a run as they stand. Raises NotFoundError, TamperedError."""
        return checklists(await self._state(run_id), self._resources.storage.blobs)

    def of(self, state: RunState) -> tuple[TickedChecklist, ...]:
        """Return the checklists of a state that was read, as they stood then."""
        return checklists(state, self._resources.storage.blobs)

    async def changes(self, run_id: str, after: int) -> AsyncIterator[int]:
        """Yield the number of the last record after each change of a checklist, without an end.

        It begins with those after the record ``after``. What another process records comes within
        a second. Raises TamperedError.
        """
        reader = self._resources.reader(run_id, after)
        try:
            while True:
                new = [event async for event in reader.happened()]
                new += [event async for event in reader.recorded()]
                if last_change(new):
                    yield reader.seq
                await reader.changed(LOOK_S)
        finally:
            reader.close()

    async def tick(
        self,
        run_id: str,
        name: str,
        item: str,
        *,
        checked: bool = True,
        by: str = "",
        seen: TickedChecklist | None = None,
    ) -> Ticked:
        """Tick off an item of the checklist ``name``, or take the tick back, in the name of ``by``.

        ``seen`` is the checklist as the person saw it; without it, the current one. A run
        that has ended stays over, and no model is asked. Another process that executes the run
        records the tick. Where none does and calls may be in progress, it is recorded on
        resumption.

        Raises:
            NotFoundError: no such run, checklist or item.
            ConflictError: someone changed the item meanwhile, or the model the checklist.
            OperatorError: the run has taken too many signals.
        """
        storage = self._resources.storage
        state = await self._state(run_id)
        now = checklist(state, storage.blobs, name)
        base = seen or now
        tick = Tick(
            by=by,
            checklist=name,
            version=base.version if base else _NO_VERSION,
            item=item,
            checked=checked,
            revision=base.revision if base else 0,
        ).verified()
        against = objection(state, tick, now)
        if now is None or against is not None:
            return _settled(against, now)
        number = await post(storage, run_id, tick)
        state = await self._recorded(run_id, number)
        after = checklist(state, storage.blobs, name)
        if state.letters < number:
            return Ticked(now, recorded=False)
        return _settled(objection(state, tick, after), after)

    async def _recorded(self, run_id: str, number: int) -> RunState:
        """Record a signal of an idle run, or wait until the process that executes it has."""
        engine = idle_engine(self._resources)
        for _ in range(LOOKS):
            with suppress(OwnedError, Fenced):
                await record_ticks(engine, run_id)
            state = await self._state(run_id)
            if state.letters >= number:
                break
            await asyncio.sleep(PAUSE_S)
        return state

    async def _state(self, run_id: str) -> RunState:
        return await state_of(self._resources.storage, run_id)


_NO_VERSION = f"sha256:{0:064}"


def _settled(against: Objection | None, now: TickedChecklist | None) -> Ticked:
    """Return what stands where an item is as it is to be, or raise why it is not."""
    if now is None or (against is not None and against.code == "missing"):
        reason = against.reason if against else "The run has no such checklist."
        raise NotFoundError(reason, hint="`artificer tick RUN` lists the items.")
    if against is None or against.code == "same":
        return Ticked(now, recorded=True)
    if against.code == "conflict":
        raise ConflictError(against.reason, hint="Look at the current checklist.")
    raise OperatorError(against.reason)

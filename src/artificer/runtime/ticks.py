"""The current checklists of a run, and the recording of ticks."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from itertools import takewhile

from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.ticked import TickedChecklist, ticked
from artificer.artifacts.ticks import ItemTick
from artificer.core.events import Event
from artificer.core.idle import is_idle
from artificer.core.signals import Tick, read_signal
from artificer.core.state import RunState
from artificer.core.ticks import tick_event
from artificer.errors import ArtificerError
from artificer.ports import BlobStore
from artificer.runtime.engine import Engine
from artificer.runtime.snapshot import restore

log = logging.getLogger("artificer.ticks")


def checklists(state: RunState, blobs: BlobStore) -> tuple[TickedChecklist, ...]:
    """Return the checklists of a run with what people have ticked, without unreadable ones."""
    return tuple(_read(state.artifacts, state.ticks, blobs))


def checklist(state: RunState, blobs: BlobStore, name: str) -> TickedChecklist | None:
    """Return the checklist of an id in its current state, or None."""
    named = [ref for ref in state.artifacts if ref.id == name]
    return next(_read(named, state.ticks, blobs), None)


def event_of(blobs: BlobStore, state: RunState, number: int, tick: Tick, at: int) -> Event:
    """Return the event of a tick. One that does not count is a ReceiptIgnored."""
    return tick_event(state, number, tick, at, checklist(state, blobs, tick.checklist))


def _read(
    refs: Iterable[ArtifactRef], ticks: tuple[ItemTick, ...], blobs: BlobStore
) -> Iterator[TickedChecklist]:
    for ref in refs:
        if ref.kind != "checklist":
            continue
        try:
            yield ticked(ref.payload, json.loads(blobs.get(ref.payload)), ticks)
        except (ArtificerError, ValueError) as error:
            log.warning("the checklist %s cannot be read: %s", ref.id, error)


async def record_ticks(engine: Engine, run: str) -> RunState:
    """Record the ticks that wait for an idle run, which stays idle, and return its state.

    Those behind another signal wait until the run is resumed, and so do those of a run with calls
    in progress: whether these still run is for the process to find out that resumes it.

    Raises:
        NotFoundError: no such run.
        TamperedError: its journal is not what was written.
        OwnedError: its owner lives, and takes them itself.
        Fenced: another process recorded something at the same time.
    """
    before = await restore(engine.journal, engine.performer.blobs, engine.snapshots, run)
    if not _is_quiet(before.state):
        return before.state
    signals = await engine.signals.read(run, before.state.letters)
    ticks = list(takewhile(lambda signal: isinstance(read_signal(signal[1]), Tick), signals))
    if not ticks:
        return before.state
    async with engine.writing(run, before) as ledger:
        for number, body in ticks:
            event = await engine.performer.receive(run, ledger.state, number, body)
            await ledger.commit(event)
    return ledger.state


def _is_quiet(state: RunState) -> bool:
    """Whether a run is idle, and nothing that it began can still be in progress."""
    return is_idle(state) and all(pending.type == "AskApproval" for pending in state.pending)

"""Watching a run that another process executes: nothing that is recorded is left out."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from artificer.core.state import RunState
from artificer.events import CallFinished, ModelReplied, RunEnded
from artificer.ports import BlobStore, Journal, Record, Snapshots
from artificer.providers.scripted import call, reply, say
from artificer.runtime.watching.feed import Feed
from artificer.runtime.watching.stream import EventReader, watch
from artificer.testing.rig import Rig
from wrapped_journal import WrappedJournal


class Growing(WrappedJournal):
    """A journal whose last records come right after a reader found no more of them."""

    def __init__(self, inner: Journal, shown: int) -> None:
        super().__init__(inner)
        self.shown: int | None = shown

    async def read(self, run: str, after: int = 0, limit: int | None = None) -> list[Record]:
        found = await super().read(run, after, limit)
        if self.shown is None:
            return found
        found = [record for record in found if record.seq <= (self.shown or 0)]
        if not found:
            self.shown = None
        return found


@dataclass
class Stored:
    """Where the watched run is."""

    journal: Journal
    blobs: BlobStore
    snapshots: Snapshots | None = field(default=None)


@pytest.mark.req("stream-watch-whole")
@pytest.mark.parametrize("left_out", [1, 2, 3, 5, 8])
async def test_records_that_come_while_the_state_is_read_are_given_out(left_out: int) -> None:
    rig = Rig()
    rig.tools.add("echo", lambda call: _echo())
    await rig.run([reply(call("echo")), say("Done.")])
    whole = len(await rig.journal.read("run"))
    stored = Stored(Growing(rig.journal, whole - left_out), rig.blobs)
    reader = EventReader(Feed(), stored, "run")
    events = [event async for event in watch(reader, lambda run: False, _no_text)]
    assert isinstance(events[-1], RunEnded)
    assert [event.seq for event in events] == sorted(event.seq for event in events)
    assert events[-1].seq == whole
    assert sum(isinstance(event, ModelReplied) for event in events) == 2
    assert sum(isinstance(event, CallFinished) for event in events) == 1


async def _echo() -> str:
    return "echo"


def _no_text(state: RunState) -> str:
    return ""

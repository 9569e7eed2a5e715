"""Reading a run at an earlier height of its journal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from artificer.core.events import PromptReceived
from artificer.core.record import EventLine
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.errors import NotFoundError
from artificer.ports import BlobStore, Journal, Record, RunView
from artificer.runtime.load import read_chain


class JournalReader:
    """Reads runs from the journal (ports.RunReader). Every view reduces the run from its start."""

    def __init__(self, journal: Journal, blobs: BlobStore) -> None:
        self._journal = journal
        self._blobs = blobs

    async def view(self, run: str, height: int | None = None) -> RunView:
        """The run at a height, or as high as it is. Raises NotFoundError, TamperedError."""
        records = await self._journal.read(run, limit=height)
        if not records:
            raise NotFoundError(f"Run {run!r} does not exist.", hint="`artificer runs` lists them.")
        return await asyncio.to_thread(self._reduced, run, records)

    def _reduced(self, run: str, records: Sequence[Record]) -> RunView:
        lines = tuple(read_chain(run, records, self._blobs))
        state, release = RunState(), ""
        for line in lines:
            if isinstance(line, EventLine):
                state, _ = reduce(state, line.event)
                if isinstance(line.event, PromptReceived):
                    release = line.event.release
        return RunView(records[-1].seq, records[-1].hash, state, lines, release)

"""The records that one commit of a run appends: of events, and of the intents that follow."""

from __future__ import annotations

from artificer.core.events import Event
from artificer.core.intents import INLINE, Compact, Generate, Intent
from artificer.core.outputs import outputs_of
from artificer.core.record import EventLine, IntentLine, encode
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.ports import Head, NewRecord, PreparedRequest, Record
from artificer.runtime.requests.prepared import Requests, asks


class Batch:
    """Records that will be appended together.

    ``external`` are the intents to be performed in the world, ``adopted`` how many records are
    another run's facts, ``requests_made`` the requests of intents, ``tools`` those of the last one,
    if they are among the blobs.
    """

    def __init__(self, run: str, head: Head, state: RunState, requests: Requests) -> None:
        self.run = run
        self.last: Head | Record = head
        self.state = state
        self.lines: list[EventLine | IntentLine] = []
        self.records: list[Record] = []
        self.blobs: list[bytes] = []
        self.external: list[Intent] = []
        self.adopted = 0
        self.requests_made: list[tuple[Generate | Compact, PreparedRequest]] = []
        self.tools: tuple[str, bytes] | None = None
        self._requests = requests

    def reduce(self, event: Event) -> list[Intent]:
        """Record an event and the intents that follow; return those to be done at once."""
        outputs, blobs = outputs_of(self.state, event)
        self.blobs.extend(blobs)
        self.state, intents = reduce(self.state, event)
        self._add(
            EventLine(
                run=self.run,
                seq=self.last.seq + 1,
                prev=self.last.hash,
                event=event,
                state=self.state.digest,
                outputs=outputs,
            )
        )
        inline: list[Intent] = []
        for intent in intents:
            self._intend(intent)
            (inline if type(intent) in INLINE else self.external).append(intent)
        return inline

    def _intend(self, intent: Intent) -> None:
        request, tools = None, None
        if asks(intent) and self._requests.provider is not None:
            prepared, request = self._requests.prepare(self.state, intent)
            self.requests_made.append((intent, prepared))
            tools = self._requests.tools(self.state, prepared)
        if tools is not None and tools is not self._requests.recorded:
            self.blobs.append(tools[1])
            self.tools = tools
        self._add(
            IntentLine(
                run=self.run,
                seq=self.last.seq + 1,
                prev=self.last.hash,
                intent=intent,
                digest=intent.digest,
                request=request,
                tools=() if tools is None else tools[:1],
            )
        )

    def _add(self, line: EventLine | IntentLine) -> None:
        body, blobs = encode(line)
        record = NewRecord(self.run, line.seq, "", body)
        self.lines.append(line)
        self.records.append(record)
        self.blobs.extend(blobs)
        self.last = record

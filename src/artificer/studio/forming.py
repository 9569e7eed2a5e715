"""The partial reply that is not recorded yet, for watchers who join later."""

from __future__ import annotations

from artificer.events import (
    ArgumentsStreamed,
    EventsMissed,
    ModelChanged,
    ModelDelayed,
    ModelReplied,
    ModelRequestFailed,
    ReasoningStreamed,
    RunEnded,
    RunEvent,
    TextStreamed,
    TurnStarted,
)

MAX_PIECE = 16_000
"""Characters of text that are one event."""

MAX_FORMING = 400_000
"""Characters of a reply that are kept for those who come later: its beginning."""

MAX_PIECES = 1_000
"""Events that they are kept as."""

Streamed = TextStreamed | ReasoningStreamed | ArgumentsStreamed

_BEGINNINGS = (TurnStarted, ModelReplied, ModelRequestFailed, ModelChanged, RunEnded)
"""Events before which nothing is forming any more."""


class Forming:
    """The pieces of the reply that is being streamed. Past its bounds, it says that some lack."""

    def __init__(self) -> None:
        self.events = list[RunEvent]()
        self._size = 0

    def add(self, event: RunEvent) -> None:
        """Take note of an event."""
        if isinstance(event, _BEGINNINGS):
            self.events, self._size = [], 0
        elif isinstance(event, ModelDelayed):  # the reply begins again
            self.events, self._size = [event], 0
        elif isinstance(event, EventsMissed):
            self._lack(event)
        elif isinstance(event, Streamed):
            if self._size + len(event.text) > MAX_FORMING or len(self.events) >= MAX_PIECES:
                self._lack(EventsMissed(run=event.run, seq=event.seq, count=1))
                self._size = MAX_FORMING
                return
            self._size += len(event.text)
            if self.events and (whole := joined(self.events[-1], event)):
                self.events[-1] = whole
            else:
                self.events.append(event)

    @property
    def delay(self) -> ModelDelayed | None:
        """Why nothing forms, where the request has failed and is sent again later."""
        first = self.events[0] if len(self.events) == 1 else None
        return first if isinstance(first, ModelDelayed) else None

    def _lack(self, event: EventsMissed) -> None:
        """Report missing pieces, once for each gap."""
        if not self.events or not isinstance(self.events[-1], EventsMissed):
            self.events.append(event)


def forms_since(recorded: list[RunEvent] | tuple[RunEvent, ...]) -> int:
    """Return the record after which a reply forms: what was streamed before it is recorded."""
    return max((event.seq for event in recorded if isinstance(event, _BEGINNINGS)), default=0)


def joined(last: RunEvent | None, event: RunEvent) -> RunEvent | None:
    """Return two pieces of the same text as one, if they may be."""
    if not isinstance(last, Streamed) or type(last) is not type(event):
        return None
    assert isinstance(event, Streamed)
    if isinstance(last, ArgumentsStreamed) and isinstance(event, ArgumentsStreamed):
        if last.index != event.index:
            return None
        last = last.replace(tool=last.tool or event.tool)
    text = last.text + event.text
    return last.replace(text=text) if last.seq == event.seq and len(text) <= MAX_PIECE else None

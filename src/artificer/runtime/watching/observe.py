"""Watching a run: empty hooks to override."""

from __future__ import annotations

from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunState
from artificer.ports import CallProgress
from artificer.values.model import Delta


class Observer:
    """Called from the event loop, in order. A hook must be quick and must not raise."""

    def resumed(self, run: str, state: RunState) -> None:
        """A run that others have recorded so far continues here."""

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """A record that a fork begins with is durable; another run had made it."""
        self.recorded(run, line)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """A record is durable."""

    def streamed(self, run: str, delta: Delta) -> None:
        """A piece of the model's reply has formed. Pieces are not journaled."""

    def progressed(self, run: str, progress: CallProgress) -> None:
        """A tool has reported its progress. Reports are not journaled."""

    def traceparent(self, run: str, intent: int, at: int) -> str:
        """Begin the span of a call, by its intent's number; return its W3C trace context.

        Empty if there is none. Asked for when the call is about to be sent to its target.
        """
        return ""

    def fenced(self, run: str) -> None:
        """A record was refused, because another process has taken the run over."""

    def idle(self, run: str) -> None:
        """This process no longer executes the run, for any reason."""


class Observers(Observer):
    """Several observers, called one after the other."""

    def __init__(self, *observers: Observer) -> None:
        self._all: list[Observer] = []
        for observer in observers:
            self._all += observer._all if isinstance(observer, Observers) else [observer]

    def resumed(self, run: str, state: RunState) -> None:
        """Notify all of them."""
        for observer in self._all:
            observer.resumed(run, state)

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Notify all of them."""
        for observer in self._all:
            observer.adopted(run, line)

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Notify all of them."""
        for observer in self._all:
            observer.recorded(run, line)

    def streamed(self, run: str, delta: Delta) -> None:
        """Notify all of them."""
        for observer in self._all:
            observer.streamed(run, delta)

    def progressed(self, run: str, progress: CallProgress) -> None:
        """Notify all of them."""
        for observer in self._all:
            observer.progressed(run, progress)

    def traceparent(self, run: str, intent: int, at: int) -> str:
        """Ask all of them; one that exports spans has an answer."""
        found = [observer.traceparent(run, intent, at) for observer in self._all]
        return next(filter(None, found), "")

    def fenced(self, run: str) -> None:
        """Notify all of them."""
        for observer in self._all:
            observer.fenced(run)

    def idle(self, run: str) -> None:
        """Notify all of them."""
        for observer in self._all:
            observer.idle(run)

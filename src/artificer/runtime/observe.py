"""Watching a run: empty hooks, to be overridden where somebody wants to see."""

from __future__ import annotations

from artificer.core.record import EventLine, IntentLine
from artificer.values.model import Delta


class Observer:
    """Called from the event loop, in order. A hook must be quick and must not raise."""

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """A record is durable."""

    def streamed(self, run: str, delta: Delta) -> None:
        """A piece of the model's reply has formed. Pieces are not journaled."""

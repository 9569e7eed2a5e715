"""The time that a call has, of which each of its steps may take a part."""

from __future__ import annotations

import asyncio

from artificer.ports import Call


class Deadline:
    """When a call's time is up. It begins with the call, which may wait for its turn first."""

    def __init__(self, call: Call) -> None:
        self._clock = asyncio.get_running_loop().time
        self._ends = self._clock() + call.definition.timeout_ms / 1000

    @property
    def is_over(self) -> bool:
        """Whether nothing may begin any more."""
        return self._clock() >= self._ends

    def within(self, seconds: float) -> float:
        """The seconds for a step that may take so many: less if less is left."""
        return min(seconds, max(0.0, round(self._ends - self._clock(), 1)))

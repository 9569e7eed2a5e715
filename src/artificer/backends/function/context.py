"""The context that a function tool receives, and how its reports reach the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Any

from artificer.ports import Call, CallMonitor, RunContext

MAX_WAITING = 100
"""Reports that wait for the event loop; a function that reports faster loses the oldest."""


def context_of(call: Call, deps: Any) -> RunContext[Any]:
    """Return the context of a call. Must be called in the event loop."""
    relay = _Relay(call.monitor)
    name, token = call.definition.name, call.fencing_token
    return RunContext(deps, call.run, call.id, call.key, name, relay.report, token)


class _Relay:
    """Hands reports of progress from any thread to the event loop."""

    def __init__(self, monitor: CallMonitor) -> None:
        self._monitor = monitor
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[str, int | None, int | None]] = deque(maxlen=MAX_WAITING)
        self._scheduled = False

    def report(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Hand on a report."""
        self._waiting.append((message, done, total))
        if not self._scheduled:
            self._scheduled = True
            with contextlib.suppress(RuntimeError):  # the event loop is closed: nobody listens
                self._loop.call_soon_threadsafe(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        while self._waiting:
            self._monitor.progressed(*self._waiting.popleft())

"""The results of calls whose work continues after their end, because nothing can stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from artificer.core.events import Event, ReceiptIgnored
from artificer.core.intents import CallTool
from artificer.core.late import resolved_by
from artificer.core.state import RunState
from artificer.core.steps import is_pending
from artificer.core.transitions import TABLE
from artificer.ports import CallMonitor, CallProgress, Outliving
from artificer.runtime.ledger import Ledger
from artificer.runtime.perform import Performer


class LateResults:
    """The late results that one run waits for. ``wake`` is called when there is one."""

    def __init__(self, ledger: Ledger, performer: Performer, wake: Callable[[], None]) -> None:
        self._ledger = ledger
        self._performer = performer
        self._wake = wake
        self._tasks: dict[asyncio.Task[ReceiptIgnored], CallTool] = {}

    def add(self, call: CallTool, work: Outliving) -> None:
        """Wait for the late result of a call."""
        chars = self._ledger.state.run_spec.limits.result_chars
        task = asyncio.ensure_future(self._performer.tool_calls.late_result(call, work, chars))
        task.add_done_callback(lambda _: self._wake())
        self._tasks[task] = call

    def follow_living(self) -> None:
        """Wait for those of doubtful calls that were begun when this run was executed before."""
        if not self._ledger.state.doubts:
            return
        doubtful = {doubt.call_id for doubt in self._ledger.state.doubts}
        for call, work in self._performer.tool_calls.left_behind(self._ledger.run):
            if call.call_id in doubtful:
                self.add(call, work)

    async def record(self) -> None:
        """Record those that have come, each with what it tells about its call.

        A call is answered first, and its late result is recorded after that.
        """
        for task, call in list(self._tasks.items()):
            if not task.done() or is_pending(self._ledger.state, call.n):
                continue
            del self._tasks[task]
            if task.exception() is None:
                await self._ledger.commit(*_events_of(self._ledger.state, call, task.result()))
                self._performer.tool_calls.late_recorded(self._ledger.run, call)

    def awaits(self, number: int) -> bool:
        """Whether the result of the intent of this number is still to come."""
        return any(intent.n == number for intent in self._tasks.values())

    def give_up(self) -> None:
        """Wait no longer. The work continues; nobody records its result."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()


class EndedCalls(Struct, frozen=True):
    """The calls whose work has ended while no process executed their run, and the ``events`` that
    record it.
    """

    calls: tuple[CallTool, ...] = ()
    events: tuple[Event, ...] = ()

    def recorded(self, ledger: Ledger, performer: Performer) -> None:
        """Forget the calls: the results of their work are in the journal of the run."""
        for call in self.calls:
            performer.tool_calls.late_recorded(ledger.run, call)


async def ended_of_doubts(ledger: Ledger, performer: Performer) -> EndedCalls:
    """Return what has ended by now of the calls that a run is in doubt about.

    It has to be recorded before anything begins: the model would repeat what it does not know to
    have happened.
    """
    state = ledger.state
    if not state.doubts or (state.phase, ReceiptIgnored) not in TABLE:
        return EndedCalls()
    doubtful = {doubt.call_id for doubt in state.doubts}
    results = await ended_since(ledger, performer, lambda call: call.call_id in doubtful)
    events = [event for call, late in results for event in _events_of(state, call, late)]
    return EndedCalls(tuple([call for call, _ in results]), tuple(events))


async def record_ended(ledger: Ledger, performer: Performer) -> None:
    """Record what has ended by now of the calls that an idle run is in doubt about."""
    late = await ended_of_doubts(ledger, performer)
    await ledger.commit(*late.events)
    late.recorded(ledger, performer)


async def ended_since(
    ledger: Ledger, performer: Performer, wanted: Callable[[CallTool], bool]
) -> list[tuple[CallTool, ReceiptIgnored]]:
    """Return the late results of those ``wanted`` calls whose work has ended in this program."""
    tool_calls, chars = performer.tool_calls, ledger.state.run_spec.limits.result_chars
    left = tool_calls.left_behind(ledger.run)
    ended = [(call, work) for call, work in left if wanted(call) and not work.alive]
    found = await asyncio.gather(
        *(tool_calls.late_result(call, work, chars) for call, work in ended), return_exceptions=True
    )
    return [
        (call, late)
        for (call, _), late in zip(ended, found, strict=True)
        if isinstance(late, ReceiptIgnored)
    ]


def _events_of(state: RunState, call: CallTool, late: ReceiptIgnored) -> list[Event]:
    resolved = resolved_by(state, call, late)
    return [late] if resolved is None else [late, resolved]


class CallFollower(CallMonitor):
    """Follows one call for a run loop."""

    def __init__(
        self,
        intent: CallTool,
        report: Callable[[CallProgress], None],
        outlived: Callable[[CallTool, Outliving], None],
        trace: Callable[[int], str],
    ) -> None:
        self._intent = intent
        self._report = report
        self._outlived = outlived
        self._trace = trace

    def progressed(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Pass on a report."""
        call, tool = self._intent.call_id, self._intent.tool
        report = CallProgress(call_id=call, tool=tool, message=message, done=done, total=total)
        self._report(report)

    def outlived(self, work: Outliving) -> None:
        """Have the run wait for the late result."""
        self._outlived(self._intent, work)

    def traceparent(self) -> str:
        """Begin the call's span."""
        return self._trace(self._intent.n)

"""Work that waits for idle runs and continues when they get signals: calls, and build jobs."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.core import events as ev
from artificer.core.intents import AdvanceBuild, CallTool, Intent
from artificer.core.state import RunPhase
from artificer.ports import Delegating
from artificer.runtime.ledger import Ledger
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.perform import Performer


class IdleRuns:
    """The idle runs that a run in progress waits for."""

    def __init__(self, ledger: Ledger, performer: Performer, signals: SignalNotifier) -> None:
        self._ledger = ledger
        self._performer = performer
        self._signals = signals
        self._calls: dict[int, CallTool] = {}

    def remember(self, ended: Iterable[Intent]) -> None:
        """Remember the calls among these that wait, and be notified of signals to their runs."""
        runs = {wait.intent: wait.run for wait in self._ledger.state.waits}
        for intent in ended:
            if isinstance(intent, CallTool) and intent.n in runs:
                self._calls[intent.n] = intent
                self._signals.notify_for(runs[intent.n], self._ledger.run)

    def in_progress(self, under_way: Iterable[Intent]) -> list[CallTool]:
        """Return the calls under way, and those whose runs another process executes."""
        others = [wait.intent for wait in self._ledger.state.waits if wait.standing == "open"]
        return [
            *[intent for intent in under_way if isinstance(intent, CallTool)],
            *[self._calls[n] for n in others if n in self._calls],
        ]

    async def resumable(self, under_way: Iterable[Intent]) -> list[Intent]:
        """Return the calls and jobs whose runs have got signals since."""
        state = self._ledger.state
        if not state.waits and state.build is None:
            return []
        return [*await self._resumable_jobs(under_way), *await self._resumable_calls()]

    async def _resumable_calls(self) -> list[Intent]:
        """Return the calls that wait no longer; that they are in progress again is recorded."""
        state = self._ledger.state
        if not state.waits or state.hold is not None or state.phase is not RunPhase.WORKING:
            return []
        found: list[Intent] = []
        for wait in state.waits:
            call = self._calls.get(wait.intent)
            if call is None or wait.standing == "open":  # that one is executed elsewhere
                continue
            executor: object = self._performer.executors.get(call.tool)
            if isinstance(executor, Delegating) and await executor.signalled(wait.run):
                found.append(call)
        now = self._performer.clock.now()
        await self._ledger.commit(*[ev.CallContinued(at=now, intent=call.n) for call in found])
        return found

    async def _resumable_jobs(self, under_way: Iterable[Intent]) -> list[Intent]:
        """Return the jobs of a build whose runs are idle and have got signals since."""
        state, builder = self._ledger.state, self._performer.builder
        if builder is None or state.build is None or not state.build.resting or state.hold:
            return []
        busy = {intent.n for intent in under_way}
        keys = await builder.signalled(state)
        numbers = {p.call_id: p.n for p in state.pending if p.call_id in keys and p.n not in busy}
        return [
            AdvanceBuild(n=numbers[job.key], wish=job)
            for job in state.build.open
            if job.key in numbers
        ]

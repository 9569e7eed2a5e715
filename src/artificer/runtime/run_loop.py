"""The run loop: perform the recorded intents, record their outcomes, until the run is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from artificer.builds.jobs import CancelRun
from artificer.core import events as ev
from artificer.core.idle import IDLE
from artificer.core.intents import AdvanceBuild, AskApproval, CallTool, Compact, Generate, Intent
from artificer.core.overruled import overruled
from artificer.core.rules import since
from artificer.core.signals import cancelled, read_signal
from artificer.core.state import RunPhase, RunState
from artificer.core.steps import is_pending
from artificer.errors import AuthorError, InvariantError, OperatorError
from artificer.runtime.idle_runs import IdleRuns
from artificer.runtime.late_results import CallFollower, LateResults
from artificer.runtime.ledger import Ledger
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.outcome import Outcome
from artificer.runtime.perform import Performer
from artificer.runtime.requests.prepared import asks
from artificer.runtime.tool_calls import unstopped
from artificer.runtime.watching.observe import Observer
from artificer.system.tasks import end_all

_Task = asyncio.Task[Outcome]


class RunLoop:
    """The loop of one run in this process.

    Cancelling its task ends all work in progress and leaves the run resumable.
    """

    def __init__(
        self, ledger: Ledger, performer: Performer, observer: Observer, signals: SignalNotifier
    ) -> None:
        self.run = ledger.run
        self._ledger = ledger
        self._performer = performer
        self._observer = observer
        self._signals = signals
        self._tasks: dict[_Task, Intent] = {}
        self._idle_runs = IdleRuns(ledger, performer, signals)
        self._woken = asyncio.Event()
        self._late = LateResults(ledger, performer, self._woken.set)
        self._signalled = False
        self._slots = asyncio.Semaphore(ledger.state.run_spec.limits.concurrency)
        self._cancelled: str | None = None
        signals.watch(self.run, self._signal)

    def _signal(self) -> None:
        self._signalled = True
        self._woken.set()

    def cancel(self, reason: str) -> None:
        """End the run: open calls are ended and answered ``cancelled``."""
        self._cancelled = reason
        self._signal()

    async def run_until_idle(self, intents: Sequence[Intent]) -> RunState:
        """Run until the run is finished, stalled or paused, or waits for a person elsewhere."""
        try:
            await self._clean_up_build()
            self._late.follow_living()
            while True:
                await self._late.record()
                self._start(intents)
                if self._signalled:
                    self._signalled = False
                    intents = [*await self._receive_signals(), *await self._resumable()]
                    continue
                if not self._tasks and (intents := await self._resumable()):
                    continue
                if self._is_idle():
                    await end_all(self._tasks)
                    await self._clean_up_build()
                    return self._ledger.state
                await self._woken.wait()
                intents = ()
                if not self._signalled:  # a signal comes before what a receipt leads to
                    self._woken.clear()
                    intents = await self._record([task for task in self._tasks if task.done()])
                    await self._end_answered()
                    intents = [*intents, *await self._resumable()]
        except asyncio.CancelledError:
            await end_all(self._tasks)
            with suppress(OperatorError, AuthorError):  # the run is then as if they had not ended
                await self._commit(list(self._tasks))
            raise
        finally:
            self._signals.unwatch(self.run)
            self._late.give_up()
            await end_all(self._tasks)
            await self._performer.release(self.run)

    def _is_idle(self) -> bool:
        return not self._tasks or self._ledger.state.phase in IDLE

    def _start(self, intents: Sequence[Intent]) -> None:
        for intent in intents:
            if not self._is_deferred(intent):
                self._tasks[asyncio.create_task(self._perform(intent))] = intent

    def _is_deferred(self, intent: Intent) -> bool:
        """Return whether an intent waits for a signal, or for the end of a pause."""
        match intent:
            case AskApproval():
                return self._performer.approver is None
            case AdvanceBuild():
                return self._ledger.state.hold is not None
            case _:
                return False

    async def _perform(self, intent: Intent) -> Outcome:
        try:
            return await self._outcome(intent)
        finally:
            self._woken.set()

    async def _outcome(self, intent: Intent) -> Outcome:
        state = self._ledger.state
        match intent:
            case Generate():
                prepared, _ = self._ledger.requests.prepare(state, intent)
                return await self._performer.model_requests.generate(
                    self.run,
                    intent,
                    state,
                    prepared,
                    partial(self._observer.streamed, self.run),
                    self._ledger.charges_of(intent),
                )
            case Compact():
                return await self._compact(intent)
            case CallTool():
                async with self._slots:
                    if intent.effect != "pure":
                        await self._ledger.anchor()
                    limits = state.run_spec.limits
                    chars = limits.result_chars
                    call = CallFollower(
                        intent,
                        partial(self._observer.progressed, self.run),
                        self._late.add,
                        self._traceparent,
                    )
                    label = next((c.label for c in state.calls if c.id == intent.call_id), "")
                    return await self._performer.tool_calls.perform(
                        self.run,
                        intent,
                        chars,
                        call,
                        label,
                        epoch=self._ledger.epoch,
                        waits=since(state.run_spec, 3),
                    )
            case AskApproval():
                return Outcome(await self._performer.ask_approver(self.run, intent))
            case AdvanceBuild(wish=job) if self._performer.builder is not None:
                await self._ledger.anchor()
                return Outcome(await self._performer.builder.serve(self.run, state, job))
            case _:
                raise InvariantError(f"{intent.type} is not performed in the world.")

    def _traceparent(self, number: int) -> str:
        return self._observer.traceparent(self.run, number, self._performer.clock.now())

    async def _compact(self, intent: Compact) -> Outcome:
        state, prepared = self._ledger.state, None
        if asks(intent):
            prepared, _ = self._ledger.requests.prepare(state, intent)
        charges = self._ledger.charges_of(intent)
        return await self._performer.model_requests.compact(
            self.run, intent, state, prepared, charges
        )

    # --- recording outcomes -------------------------------------------------------------------

    async def _record(self, done: Sequence[_Task]) -> Sequence[Intent]:
        """Record the outcomes of tasks; then raise the error of one that broke."""
        intents = await self._commit(done)
        for task in done:
            if not task.cancelled():
                task.result()
        return intents

    async def _commit(self, done: Sequence[_Task]) -> Sequence[Intent]:
        """Record the outcomes of the tasks that ended well, and return the next intents."""
        outcomes: list[Outcome] = []
        receipts: list[ev.Event] = []
        ended: list[Intent] = []
        answered: list[Intent] = []
        for task in done:
            intent = self._tasks.pop(task)
            ended.append(intent)
            if task.cancelled() or task.exception() is not None:
                continue
            outcome = task.result()
            outcomes.append(outcome)
            if outcome.event is not None:
                receipts.append(self._unless_settled(outcome.event, intent))
                answered.append(intent)
        intents = await self._ledger.commit(*receipts, outcomes=outcomes)
        self._performer.tool_calls.settled(self.run, answered)
        self._idle_runs.remember(ended)
        return intents

    def _unless_settled(self, event: ev.Event, intent: Intent) -> ev.Event:
        """Return the receipt, or `ReceiptIgnored` if its intent is no longer pending."""
        if is_pending(self._ledger.state, intent.n):
            return event
        why = "What it answers was settled before."
        return ev.ReceiptIgnored(at=event.at, intent=intent.n, what=event.type, reason=why)

    # --- signals ------------------------------------------------------------------------------

    async def _receive_signals(self) -> list[Intent]:
        """Apply the signals that have arrived, in their order."""
        if self._cancelled is not None:
            return await self._cancel(self._cancelled)
        intents: list[Intent] = []
        signals = await self._signals.read(self.run, self._ledger.state.letters)
        withdrawn = overruled(signals)
        for number, body in signals:
            signal = read_signal(body)
            if signal is not None and signal.type == "cancel":
                await self._finish_tasks()
                intents = []
            state = self._ledger.state
            event = await self._performer.receive(self.run, state, number, body, withdrawn)
            calls = self._idle_runs.in_progress(self._tasks.values())
            intents += await self._ledger.commit(event)
            if calls and isinstance(event, ev.InterruptRequested):
                await self._performer.tool_calls.interrupt(self.run, calls, self._ledger.epoch)
        await self._end_answered()
        waiting = {pending.n for pending in self._ledger.state.pending}
        return [intent for intent in intents if intent.n in waiting]

    async def _resumable(self) -> list[Intent]:
        return await self._idle_runs.resumable(self._tasks.values())

    async def _clean_up_build(self) -> None:
        if self._performer.builder is not None:
            await self._performer.builder.tidy(self.run, self._ledger.state)

    async def _cancel(self, reason: str) -> list[Intent]:
        await self._finish_tasks()
        if self._ledger.state.phase is not RunPhase.FINISHED:
            await self._ledger.commit(cancelled(self._performer.clock.now(), reason))
        return []

    async def _finish_tasks(self) -> None:
        """End all tasks, and record the outcomes of those that were done or continue for ever."""
        await end_all(self._tasks)
        lasting = [
            intent
            for task, intent in self._tasks.items()
            if task.cancelled() and isinstance(intent, CallTool) and self._late.awaits(intent.n)
        ]
        await self._commit(list(self._tasks))
        doubtful = [intent for intent in lasting if intent.effect != "pure"]
        now = self._performer.clock.now()
        await self._ledger.commit(*[unstopped(now, intent) for intent in doubtful])
        self._performer.tool_calls.settled(self.run, doubtful)

    async def _end_answered(self) -> None:
        """End the tasks whose intents are settled: a question that a signal has answered."""
        settled = [
            task
            for task, intent in self._tasks.items()
            if not (is_pending(self._ledger.state, intent.n) or _needs_no_receipt(intent))
        ]
        if settled:
            await end_all(settled)
            await self._record(settled)


def _needs_no_receipt(intent: Intent) -> bool:
    return isinstance(intent, AdvanceBuild) and isinstance(intent.wish, CancelRun)

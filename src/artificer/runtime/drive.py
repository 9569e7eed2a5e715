"""Driving one run: perform what is recorded, record what came of it, until it rests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress

from artificer.builds.jobs import CancelRun
from artificer.core import events as ev
from artificer.core.intents import AdvanceBuild, AskApproval, CallTool, Compact, Generate, Intent
from artificer.core.letters import cancelled, read_letter
from artificer.core.overruled import overruled
from artificer.core.state import Phase, RunState
from artificer.errors import InvariantError, OperatorError
from artificer.runtime.ledger import Ledger
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.observe import Observer
from artificer.runtime.outcome import Outcome
from artificer.runtime.perform import Performer
from artificer.runtime.requests import asks

AT_REST = (Phase.FINISHED, Phase.STALLED, Phase.PAUSED)
"""Phases that last until somebody does something."""

_Task = asyncio.Task[Outcome]


class Drive:
    """One run, driven by this process.

    Cancelling the task that drives it ends all work under way and leaves the run resumable.
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
        self._bell = signals.watch(self.run)
        self._slots = asyncio.Semaphore(ledger.state.given.limits.concurrency)
        self._cancelled: str | None = None

    def cancel(self, reason: str) -> None:
        """End the run: open calls are ended and answered ``cancelled``."""
        self._cancelled = reason
        self._bell.set()

    async def to_rest(self, intents: Sequence[Intent]) -> RunState:
        """Drive the run until it is finished, stalled, paused, or waits for a person elsewhere."""
        ringing = asyncio.ensure_future(self._bell.wait())
        try:
            await self._tidy()
            while True:
                self._begin(intents)
                if self._bell.is_set():
                    self._bell.clear()
                    intents = [*await self._listen(), *await self._stirred()]
                    continue
                if not self._tasks and (intents := await self._stirred()):
                    continue
                if not self._tasks or self._ledger.state.phase in AT_REST:
                    await _end(self._tasks)
                    await self._tidy()
                    return self._ledger.state
                if ringing.done():
                    ringing = asyncio.ensure_future(self._bell.wait())
                await asyncio.wait({*self._tasks, ringing}, return_when=asyncio.FIRST_COMPLETED)
                intents = ()
                if not self._bell.is_set():  # a letter goes before what may follow from a receipt
                    intents = await self._record([task for task in self._tasks if task.done()])
                    await self._drop_settled()
                    intents = [*intents, *await self._stirred()]
        except asyncio.CancelledError:
            await _end(self._tasks)
            with suppress(OperatorError):  # the run is then as if they had not ended yet
                await self._commit(list(self._tasks))
            raise
        finally:
            ringing.cancel()
            self._signals.unwatch(self.run)
            await _end(self._tasks)
            await self._performer.release(self.run)

    def _begin(self, intents: Sequence[Intent]) -> None:
        for intent in intents:
            if self._waits(intent):
                continue
            self._tasks[asyncio.ensure_future(self._perform(intent))] = intent

    def _waits(self, intent: Intent) -> bool:
        """Whether an intent is for a letter to settle, or for a later time."""
        match intent:
            case AskApproval():
                return self._performer.approver is None
            case AdvanceBuild():
                return self._ledger.state.hold is not None
            case _:
                return False

    async def _perform(self, intent: Intent) -> Outcome:
        state = self._ledger.state
        match intent:
            case Generate():
                payload, _ = self._ledger.requests.prepare(state, intent)
                return await self._performer.asker.generate(
                    self.run,
                    intent,
                    state,
                    payload,
                    lambda delta: self._observer.streamed(self.run, delta),
                    self._ledger.charges_of(intent),
                )
            case Compact():
                return await self._compact(intent)
            case CallTool():
                async with self._slots:
                    if intent.effect != "pure":
                        await self._ledger.anchor()
                    limits = state.given.limits
                    chars = limits.result_chars
                    return Outcome(await self._performer.call_tool(self.run, intent, chars))
            case AskApproval():
                return Outcome(await self._performer.ask(self.run, intent))
            case AdvanceBuild(wish=wish) if self._performer.builder is not None:
                await self._ledger.anchor()
                return Outcome(await self._performer.builder.serve(self.run, state, wish))
            case _:
                raise InvariantError(f"{intent.type} is not performed in the world.")

    async def _compact(self, intent: Compact) -> Outcome:
        state, payload = self._ledger.state, None
        if asks(intent):
            payload, _ = self._ledger.requests.prepare(state, intent)
        charges = self._ledger.charges_of(intent)
        return await self._performer.asker.compact(self.run, intent, state, payload, charges)

    # --- what came of it ----------------------------------------------------------------------

    async def _record(self, done: Sequence[_Task]) -> Sequence[Intent]:
        """Record what tasks have brought; raise what broke, now that their siblings' is safe."""
        intents = await self._commit(done)
        for task in done:
            if not task.cancelled():
                task.result()
        return intents

    async def _commit(self, done: Sequence[_Task]) -> Sequence[Intent]:
        """Record what came of tasks that have ended well, and return what follows."""
        ended = [(task, self._tasks.pop(task)) for task in done]
        outcomes = [
            (task.result(), intent)
            for task, intent in ended
            if not task.cancelled() and task.exception() is None
        ]
        receipts = [
            self._timely(outcome.event, intent)
            for outcome, intent in outcomes
            if outcome.event is not None
        ]
        intents = await self._ledger.commit(*receipts, outcomes=[found for found, _ in outcomes])
        answered = {getattr(receipt, "intent", None) for receipt in receipts}
        self._performer.settled(self.run, [i for _, i in ended if i.n in answered])
        return intents

    def _timely(self, event: ev.Event, intent: Intent) -> ev.Event:
        """The receipt; or, when nobody waits for it any more, that it was ignored."""
        if any(pending.n == intent.n for pending in self._ledger.state.pending):
            return event
        why = "What it answers was settled before."
        return ev.ReceiptIgnored(at=event.at, intent=intent.n, what=event.type, reason=why)

    # --- what people want ---------------------------------------------------------------------

    async def _listen(self) -> list[Intent]:
        """Do as the letters that have come say, in their order."""
        if self._cancelled is not None:
            return await self._cancel(self._cancelled)
        intents: list[Intent] = []
        taken = self._ledger.state.letters
        letters = await self._signals.read(self.run, taken)
        gone = overruled(letters)
        for number, body in letters:
            letter = read_letter(body)
            if letter is not None and letter.type == "cancel":
                await self._finish_tasks()
                intents = []
            event = await self._performer.hear(self.run, self._ledger.state, number, body, gone)
            intents += await self._ledger.commit(event)
        await self._drop_settled()
        waiting = {pending.n for pending in self._ledger.state.pending}
        return [intent for intent in intents if intent.n in waiting]

    async def _stirred(self) -> list[Intent]:
        """What a build's runs rested at, and somebody has said something about since."""
        state, builder = self._ledger.state, self._performer.builder
        if builder is None or state.build is None or not state.build.resting or state.hold:
            return []
        keys, busy = await builder.stirred(state), {intent.n for intent in self._tasks.values()}
        numbers = {p.call_id: p.n for p in state.pending if p.call_id in keys and p.n not in busy}
        return [
            AdvanceBuild(n=numbers[wish.key], wish=wish)
            for wish in state.build.open
            if wish.key in numbers
        ]

    async def _tidy(self) -> None:
        if self._performer.builder is not None:
            await self._performer.builder.tidy(self.run, self._ledger.state)

    async def _cancel(self, reason: str) -> list[Intent]:
        await self._finish_tasks()
        if self._ledger.state.phase is not Phase.FINISHED:
            await self._ledger.commit(cancelled(self._performer.clock.now(), reason))
        return []

    async def _finish_tasks(self) -> None:
        """End what is under way, and record what of it had come to its own end."""
        await _end(self._tasks)
        await self._commit(list(self._tasks))

    async def _drop_settled(self) -> None:
        """End what nobody waits for any more: a question that a letter has answered."""
        waiting = {pending.n for pending in self._ledger.state.pending}
        settled = [
            task
            for task, intent in self._tasks.items()
            if intent.n not in waiting and not _asks_no_answer(intent)
        ]
        if settled:
            await _end(settled)
            await self._record(settled)


def _asks_no_answer(intent: Intent) -> bool:
    return isinstance(intent, AdvanceBuild) and isinstance(intent.wish, CancelRun)


async def _end(tasks: Collection[_Task]) -> None:
    """Cancel tasks and wait until their work has really ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)

"""The engine: record, then perform. One loop for every kind of run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool, Generate, Intent
from artificer.core.spec import RunSpec
from artificer.core.state import Phase, RunState
from artificer.errors import Fenced, InvariantError, OperatorError, TransitionError
from artificer.ports import Head, Journal
from artificer.runtime.ledger import Ledger
from artificer.runtime.load import Loaded, load
from artificer.runtime.observe import Observer
from artificer.runtime.perform import Performer
from artificer.runtime.recovery import recover
from artificer.values.refusal import not_ok
from artificer.values.release import RELEASE

_AT_REST = (Phase.FINISHED, Phase.STALLED)


@dataclass
class Engine:
    """Drives runs of one provider and one set of tools.

    Cancelling the task that drives a run ends all work under way and leaves the run resumable;
    :meth:`stop` ends the run itself.
    """

    journal: Journal
    performer: Performer
    observer: Observer = field(default_factory=Observer)
    _stops: dict[str, asyncio.Event] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    async def start(self, run: str, spec: RunSpec) -> RunState:
        """Begin a run and drive it until it is finished or stalled.

        Raises:
            OperatorError: there is a run of that id.
        """
        ledger = await self._new_ledger(run)
        event = ev.PromptReceived(at=self.performer.clock.now(), spec=spec, release=RELEASE)
        return await self._drive(ledger, await ledger.commit(event))

    async def fork(self, run: str, facts: Sequence[ev.Event], forked: ev.RunForked) -> RunState:
        """Begin a run with facts that another one established, and drive it on from there.

        Raises:
            OperatorError: there is a run of that id, or the facts do not fit together any more.
        """
        ledger = await self._new_ledger(run)
        try:
            intents = await ledger.adopt(facts, forked)
        except (TransitionError, InvariantError) as error:
            raise OperatorError(
                f"The facts do not fit with what was changed: {error.message}",
                hint="Fork at an earlier record, or change less of the limits.",
            ) from error
        self._recall(run, ledger.state)
        return await self._drive(ledger, intents)

    async def resume(self, run: str) -> RunState:
        """Take a run up where its journal ends. A finished run is returned as it is.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
            Fenced: another process took it up at the same time.
        """
        before = await load(self.journal, self.performer.blobs, run)
        if before.state.phase is Phase.FINISHED:
            return before.state
        ledger = await self._ledger(run, before)
        now = self.performer.clock.now()
        resumed = ev.RunResumed(at=now, epoch=ledger.epoch)
        receipts, again = recover(before.open, now)
        self._recall(run, before.state)
        following = await ledger.commit(resumed, *receipts)
        return await self._drive(ledger, (*again, *following))

    async def cancel(self, run: str, reason: str) -> RunState:
        """End a run that nobody drives. A finished run is returned as it is.

        A process that does drive it is fenced: it can record nothing any more, and stops.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
        """
        before = await load(self.journal, self.performer.blobs, run)
        if before.state.phase is Phase.FINISHED:
            return before.state
        ledger = await self._ledger(run, before)
        await ledger.commit(self._cancelled(reason))
        return ledger.state

    def stop(self, run: str, reason: str) -> None:
        """End a run that this engine drives: open calls are ended and answered ``cancelled``."""
        self._reasons[run] = reason
        self._stops.setdefault(run, asyncio.Event()).set()

    def _recall(self, run: str, state: RunState) -> None:
        """Say which tools were used before: what they shared is not in this process."""
        used = {call.name for message in state.history for call in message.calls}
        self.performer.recall(run, frozenset(used))

    async def _new_ledger(self, run: str) -> Ledger:
        if await self.journal.read(run, limit=1):  # acquiring it would fence whoever drives it
            raise OperatorError(f"There is a run {run!r} already.", hint="Choose another id.")
        return await self._ledger(run, None)

    async def _ledger(self, run: str, before: Loaded | None) -> Ledger:
        """Take the run over. ``before`` is the run as it was read, or None for a new one."""
        lease = await self.journal.acquire(run)
        if lease.head != (before.head if before else Head()):
            raise Fenced(
                f"Run {run} went on while it was being read: somebody else drives it.",
                hint="Try again when it has stopped.",
            )
        return Ledger(
            run,
            lease,
            before.state if before else RunState(),
            journal=self.journal,
            blobs=self.performer.blobs,
            provider=self.performer.provider,
            observer=self.observer,
        )

    async def _drive(self, ledger: Ledger, intents: Sequence[Intent]) -> RunState:
        """The loop: perform what is recorded, record what came of it."""
        slots = asyncio.Semaphore(ledger.state.given.limits.concurrency)
        stop = self._stops.setdefault(ledger.run, asyncio.Event())
        stopping = asyncio.ensure_future(stop.wait())
        tasks: list[asyncio.Task[ev.Event]] = []
        try:
            while ledger.state.phase not in _AT_REST:
                if stop.is_set():
                    await _end(tasks)
                    results, tasks = _results(tasks), []
                    await ledger.commit(*results)
                    if ledger.state.phase not in _AT_REST:
                        reason = self._reasons.get(ledger.run, "")
                        await ledger.commit(self._cancelled(reason))
                    break
                tasks += [
                    asyncio.ensure_future(self._perform(ledger, intent, slots))
                    for intent in intents
                ]
                await asyncio.wait({*tasks, stopping}, return_when=asyncio.FIRST_COMPLETED)
                done = [task for task in tasks if task.done()]
                tasks = [task for task in tasks if task not in done]
                intents = await ledger.commit(*_results(done))
                for task in done:
                    task.result()  # raises what broke, now that what its siblings did is recorded
            return ledger.state
        except asyncio.CancelledError:
            await _end(tasks)
            with suppress(OperatorError):  # the run is then as if they had not ended yet
                await ledger.commit(*_results(tasks))
            raise
        finally:
            stopping.cancel()
            await _end(tasks)
            await self.performer.release(ledger.run)
            self._stops.pop(ledger.run, None)
            self._reasons.pop(ledger.run, None)

    def _cancelled(self, reason: str) -> ev.CancelRequested:
        content = not_ok("cancelled", "The run was cancelled.")
        return ev.CancelRequested(at=self.performer.clock.now(), reason=reason, content=content)

    async def _perform(self, ledger: Ledger, intent: Intent, slots: asyncio.Semaphore) -> ev.Event:
        run, limits = ledger.run, ledger.state.given.limits
        match intent:
            case Generate():
                payload, _ = ledger.requests.prepare(ledger.state)
                return await self.performer.generate(
                    run,
                    intent,
                    ledger.state.given,
                    payload,
                    lambda delta: self.observer.streamed(run, delta),
                )
            case CallTool():
                async with slots:
                    return await self.performer.call_tool(run, intent, limits.result_chars)
            case AskApproval():
                return await self.performer.ask(run, intent)
            case _:
                raise InvariantError(f"{intent.type} is not performed in the world.")


def _results(tasks: Sequence[asyncio.Task[ev.Event]]) -> list[ev.Event]:
    """What has come of the tasks that ended well, in their order."""
    return [
        task.result()
        for task in tasks
        if task.done() and not task.cancelled() and task.exception() is None
    ]


async def _end(tasks: Sequence[asyncio.Task[ev.Event]]) -> None:
    """Cancel tasks and wait until their work has really ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)

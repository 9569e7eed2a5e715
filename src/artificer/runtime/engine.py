"""The engine: starts, resumes and ends runs. One loop for every kind of run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct, field

from artificer.core import events as ev
from artificer.core.facts import Judges
from artificer.core.idle import IDLE
from artificer.core.intents import CallTool, Intent
from artificer.core.overruled import overruled
from artificer.core.signals import cancelled
from artificer.core.spec import RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.errors import (
    ArtificerError,
    ExistsError,
    Fenced,
    InvariantError,
    OperatorError,
    OwnedError,
    TransitionError,
)
from artificer.ownership.local import Hold, LocalOwner
from artificer.ports import Claim, Head, Journal, Lease, Snapshots
from artificer.runtime.doubts import ask_world, possibly_running
from artificer.runtime.ending import cancellation
from artificer.runtime.late_results import ended_of_doubts, record_ended
from artificer.runtime.ledger import Ledger
from artificer.runtime.load import Loaded, load
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.outcome import Outcome
from artificer.runtime.perform import Performer
from artificer.runtime.recovery import calls_made, recover
from artificer.runtime.run_loop import RunLoop
from artificer.runtime.snapshot import Snapshotter, restore
from artificer.runtime.waiting import unfinished_above
from artificer.runtime.watching.observe import Observer
from artificer.values.release import RELEASE

Send = Callable[[], Awaitable[object]] | None
"""Posts one more signal to a run that is resumed, once it is acquired; None for none."""


Outdated = Callable[[], Awaitable[str]] | None
"""Returns why a run that has just begun has no use any more; "" if it has. None for all others."""


class Engine(Struct):
    """Executes runs of one provider and one set of tools.

    Cancelling the task that executes a run ends all its work and leaves the run resumable;
    :meth:`stop` ends the run itself.
    """

    journal: Journal
    performer: Performer
    signals: SignalNotifier
    observer: Observer = field(default_factory=Observer)
    judges: Judges = field(default_factory=Judges)
    snapshots: Snapshots | None = None
    owner: LocalOwner = field(default_factory=LocalOwner)
    _loops: dict[str, RunLoop] = {}

    async def start(
        self, run: str, spec: RunSpec, blobs: Sequence[bytes] = (), outdated: Outdated = None
    ) -> RunState:
        """Start a run and execute it until it is idle: finished, stalled, paused, or waiting.

        ``blobs`` are the bytes of the prompt's attachments. An ``outdated`` run is ended at once.
        Raises ExistsError: there is a run of that id.
        """
        event = ev.PromptReceived(at=self.performer.clock.now(), spec=spec, release=RELEASE)
        ledger, first = await self._new_ledger(run), Outcome(event, tuple(blobs))
        return await self._run_until_idle(ledger, _begun(ledger, event, first, outdated))

    async def fork(self, run: str, facts: Sequence[ev.Event], forked: ev.RunForked) -> RunState:
        """Start a run with the facts of another one, and execute it from there.

        Raises:
            ExistsError: there is a run of that id.
            OperatorError: the facts do not fit together any more.
        """
        ledger = await self._new_ledger(run)
        return await self._run_until_idle(ledger, self._import_facts(ledger, facts, forked))

    async def _import_facts(
        self, ledger: Ledger, facts: Sequence[ev.Event], forked: ev.RunForked
    ) -> Sequence[Intent]:
        try:
            intents = await ledger.import_facts(facts, forked)
        except (TransitionError, InvariantError) as error:
            raise OperatorError(
                f"The copied records do not fit the changes: {error.message}",
                hint="Fork at an earlier record, or change fewer limits.",
            ) from error
        self.performer.recall(ledger.run, calls_made(ledger.state))
        return intents

    async def resume(self, run: str, *, take_over: bool = False, send: Send = None) -> RunState:
        """Continue a run where its journal ends, and receive the signals that wait for it.

        A finished run that got none is returned as it is. ``take_over`` takes the run away from an
        owner that lives; its unfinished calls are then ambiguous, but for pure ones.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
            OwnedError: its owner lives; the run continues there.
            Fenced: another process took it up at the same time.
        """
        before = await self._restore(run)
        signals = await self.signals.read(run, before.state.letters)
        if before.state.phase is RunPhase.FINISHED and not signals and send is None:
            return before.state
        ledger, before = await self._take_ledger(run, before, take_over=take_over)
        return await self._run_until_idle(ledger, _after(send, self._catch_up, ledger, before))

    async def _catch_up(self, ledger: Ledger, before: Loaded) -> Sequence[Intent]:
        """Record what happened while no process drove the run; return the intents to perform."""
        run, intents = ledger.run, list[Intent]()
        was_idle = before.state.phase in IDLE
        if not was_idle:  # first the truth about the calls in progress
            intents += await _settle_open(ledger, self.performer, before)
        elif ledger.state.doubts:  # and about those of before
            await record_ended(ledger, self.performer)
        signals = await self.signals.read(run, before.state.letters)
        withdrawn = overruled(signals)
        for number, body in signals:
            event = await self.performer.receive(run, ledger.state, number, body, withdrawn)
            intents += await ledger.commit(event)
        if was_idle and ledger.state.phase in (RunPhase.STALLED, RunPhase.PAUSED):
            intents += await _settle_open(ledger, self.performer, before)
        waiting = {pending.n for pending in ledger.state.pending}
        return [intent for intent in intents if intent.n in waiting]

    async def cancel(
        self, run: str, reason: str, *, by: str = "", take_over: bool = True
    ) -> RunState:
        """End a run, whichever process executes it: that is fenced, and stops.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
            OwnedError: its owner lives, and it is not to be taken over.
            Fenced: another process took it up at the same time.
        """
        before = await self._restore(run)
        if before.state.phase is RunPhase.FINISHED:
            return before.state
        ledger, before = await self._take_ledger(run, before, take_over=take_over)
        try:
            if before.state.phase is not RunPhase.FINISHED:
                now = self.performer.clock.now()
                # what may have happened is not `cancelled`
                receipts, _ = recover(before.open, now, {}, possibly_running(ledger, before.open))
                await ledger.commit(*receipts)
            if ledger.state.phase is not RunPhase.FINISHED:  # it may have waited for these calls
                await ledger.commit(await cancellation(self.signals, ledger, now, reason, by))
        finally:
            await ledger.finish()
        return ledger.state

    @asynccontextmanager
    async def writing(self, run: str, before: Loaded | None) -> AsyncIterator[Ledger]:
        """Hold an idle run, as it was read, or a new one, to record what begins nothing."""
        ledger = await (self._ledger(run, before) if before else self._new_ledger(run))
        try:
            yield ledger
        finally:
            await ledger.finish()

    async def record_pruning(self, run: str, by: str, reason: str) -> tuple[int, int]:
        """Record the tombstone of a finished run; return its epoch, and how many records it means.

        Raises:
            OperatorError: the run is not finished, or one that it is part of is not.
            NotFoundError: no such run, or it was pruned before.
        """
        blobs = self.performer.blobs
        before = await load(self.journal, blobs, run)
        if before.state.phase is not RunPhase.FINISHED:
            raise OperatorError(
                f"Run {run} is not finished: it cannot be pruned.",
                hint=f"End it first: artificer cancel {run}",
            )
        marked = before.tombstone
        if not marked and (above := await unfinished_above(self.journal, blobs, before)):
            raise OperatorError(
                f"Run {run} is part of {above}, which is not finished and may still read its "
                "result: it cannot be pruned.",
                hint=f"End that one first: artificer cancel {above}",
            )
        async with self.writing(run, before) as ledger:
            if marked:
                return ledger.epoch, marked.records
            records = before.head.seq
            now = self.performer.clock.now()
            await ledger.commit(ev.RunPruned(at=now, records=records, by=by, reason=reason))
            return ledger.epoch, records

    def stop(self, run: str, reason: str) -> None:
        """End a run that this engine executes: open calls are ended and answered ``cancelled``."""
        if run in self._loops:
            self._loops[run].cancel(reason)

    async def _new_ledger(self, run: str) -> Ledger:
        """Acquire a run that has no record yet. The attempt changes nothing for one that has."""
        try:
            return await self._ledger(run, None)
        except (Fenced, OwnedError) as error:
            if not await self.journal.read(run, limit=1):
                raise
            raise ExistsError(f"Run {run!r} already exists.", hint="Choose another id.") from error

    async def _ledger(self, run: str, before: Loaded | None) -> Ledger:
        """Acquire a run, as it was read; ``before`` is None for a new one."""
        hold = self.owner.hold(run)
        lease = await self._acquire(run, hold, before.head if before else Head())
        return self._opened(hold, lease, before)

    async def _take_ledger(
        self, run: str, before: Loaded, *, take_over: bool
    ) -> tuple[Ledger, Loaded]:
        """Acquire a run, and return it as it is now: one that is taken over may have continued."""
        if not take_over:
            return await self._ledger(run, before), before
        hold = self.owner.hold(run, take_over=True)
        lease = await self._acquire(run, hold, None)
        try:
            if lease.head != before.head:
                before = await self._restore(run)
            return self._opened(hold, lease, before), before
        except BaseException:  # a cancellation too: no task executes the acquired run
            hold.end(released=False)
            raise

    async def _acquire(self, run: str, hold: Hold, head: Head | None) -> Lease:
        try:
            return await self.journal.acquire(run, Claim(self.owner.id, head, hold.admit))
        except BaseException as error:  # a cancellation may come when it has been acquired
            hold.end(released=isinstance(error, ArtificerError))
            raise

    async def _restore(self, run: str) -> Loaded:
        return await restore(self.journal, self.performer.blobs, self.snapshots, run)

    def _opened(self, hold: Hold, lease: Lease, before: Loaded | None) -> Ledger:
        if before is not None:
            self.observer.resumed(hold.run, before.state)
        ledger = Ledger(
            hold,
            lease,
            before.state if before else RunState(),
            journal=self.journal,
            blobs=self.performer.blobs,
            provider=self.performer.mapper,
            observer=self.observer,
            judges=self.judges,
        )
        ledger.budgets = self.performer.budgets
        ledger.snapshotter = _snapshotter(self.snapshots, hold.run, before)
        return ledger

    async def _run_until_idle(self, ledger: Ledger, first: Awaitable[Sequence[Intent]]) -> RunState:
        """Run the loop until the run is idle, and release it; continue with signals from before."""
        run, state = ledger.run, await self._run_loop(ledger, first)
        while await self.signals.has_signals(run, state.letters):
            try:
                before = await self._restore(run)
                ledger = await self._ledger(run, before)
            except (OwnedError, Fenced):  # another process has taken it up
                return state
            state = await self._run_loop(ledger, self._catch_up(ledger, before))
        return state

    async def _run_loop(self, ledger: Ledger, first: Awaitable[Sequence[Intent]]) -> RunState:
        try:
            intents = await first
            loop = RunLoop(ledger, self.performer, self.observer, self.signals)
            self._loops[ledger.run] = loop
            return await loop.run_until_idle(intents)
        finally:
            self._loops.pop(ledger.run, None)
            await ledger.finish()


async def _begun(
    ledger: Ledger, event: ev.PromptReceived, first: Outcome, outdated: Outdated
) -> Sequence[Intent]:
    """Record the beginning of a run, and its end if it is outdated: who outdates it sees it now."""
    intents = await ledger.commit(event, outcomes=[first])
    why = "" if outdated is None else await outdated()
    return await ledger.commit(cancelled(event.at, why)) if why else intents


async def _after(
    send: Send,
    catch_up: Callable[[Ledger, Loaded], Awaitable[Sequence[Intent]]],
    ledger: Ledger,
    before: Loaded,
) -> Sequence[Intent]:
    if send is not None:
        await send()
    return await catch_up(ledger, before)


async def _settle_open(ledger: Ledger, performer: Performer, before: Loaded) -> Sequence[Intent]:
    """Settle the intents that a crash left open, and return those to perform."""
    now = performer.clock.now()
    resumed = ev.RunResumed(at=now, epoch=ledger.epoch, unreleased=ledger.was_unreleased)
    unsure = [i for i in before.open if isinstance(i, CallTool) and i.effect != "pure"]
    probed, uncertain = await ask_world(ledger, performer, before.open)
    receipts, again = recover(before.open, now, probed, uncertain)
    calls = calls_made(before.state, begun=before.open, again=again)
    performer.recall(ledger.run, calls)
    late = await ended_of_doubts(ledger, performer)
    following = await ledger.commit(resumed, *late.events, *receipts)
    late.recorded(ledger, performer)
    performer.tool_calls.settled(ledger.run, [i for i in unsure if i not in again])
    return (*again, *following)


def _snapshotter(
    snapshots: Snapshots | None, run: str, before: Loaded | None
) -> Snapshotter | None:
    if snapshots is None:
        return None
    if before is None or not before.kept:
        return Snapshotter(snapshots, run, seq=0, messages=0)
    seq = before.head.seq - len(before.lines)
    return Snapshotter(snapshots, run, seq=seq, messages=before.kept)

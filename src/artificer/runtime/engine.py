"""The engine: begins runs, takes them up again, ends them. One loop for every kind of run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from artificer.core import events as ev
from artificer.core.intents import CallTool, Intent
from artificer.core.letters import cancelled, overruled
from artificer.core.policy import Consult
from artificer.core.record import EventLine
from artificer.core.spec import RunSpec
from artificer.core.state import Phase, RunState
from artificer.errors import Fenced, InvariantError, OperatorError, TransitionError
from artificer.ports import Head, Journal, Probed, Snapshots
from artificer.runtime.drive import AT_REST, Drive
from artificer.runtime.ledger import Ledger
from artificer.runtime.load import Loaded, load
from artificer.runtime.observe import Observer
from artificer.runtime.perform import Performer
from artificer.runtime.post import Post
from artificer.runtime.recovery import calls_made, recover
from artificer.runtime.snapshot import Taker, restore
from artificer.values.release import RELEASE

TRIES = 3
"""How often a run is taken over to be ended, while others go on with it."""


@dataclass
class Engine:
    """Drives runs of one provider and one set of tools.

    Cancelling the task that drives a run ends all work under way and leaves the run resumable;
    :meth:`stop` ends the run itself.
    """

    journal: Journal
    performer: Performer
    post: Post
    observer: Observer = field(default_factory=Observer)
    consult: Consult | None = None
    snapshots: Snapshots | None = None
    _drives: dict[str, Drive] = field(default_factory=dict)

    async def start(self, run: str, spec: RunSpec) -> RunState:
        """Begin a run and drive it until it rests: finished, stalled, paused, or waiting.

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
        self.performer.recall(run, calls_made(ledger.state))
        return await self._drive(ledger, intents)

    async def resume(self, run: str) -> RunState:
        """Take a run up where its journal ends, and do as the letters say that wait for it.

        A finished run that got none is returned as it is.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
            Fenced: another process took it up at the same time.
        """
        before = await restore(self.journal, self.performer.blobs, self.snapshots, run)
        letters = await self.post.mailbox.letters(run, before.state.letters)
        if before.state.phase is Phase.FINISHED and not letters:
            return before.state
        ledger = await self._ledger(run, before)
        intents: list[Intent] = []
        at_rest = before.state.phase in AT_REST
        if not at_rest:  # first the truth about what was under way
            intents += await self._take_up(ledger, before)
        gone = overruled(letters)
        for number, body in letters:
            event = await self.performer.hear(run, ledger.state, number, body, gone)
            intents += await ledger.commit(event)
        if at_rest and ledger.state.phase in (Phase.STALLED, Phase.PAUSED):
            intents += await self._take_up(ledger, before)
        waiting = {pending.n for pending in ledger.state.pending}
        return await self._drive(ledger, [i for i in intents if i.n in waiting])

    async def _take_up(self, ledger: Ledger, before: Loaded) -> Sequence[Intent]:
        """Settle what a crash left open, and return what is to be performed."""
        now = self.performer.clock.now()
        resumed = ev.RunResumed(at=now, epoch=ledger.epoch)
        probed = await self._probe(ledger.run, before.open)
        receipts, again = recover(before.open, now, probed)
        calls = calls_made(before.state, begun=before.open, again=again)
        self.performer.recall(ledger.run, calls)
        following = await ledger.commit(resumed, *receipts)
        return (*again, *following)

    async def _probe(self, run: str, pending: Sequence[Intent]) -> dict[int, Probed]:
        """Ask the world about calls that may have happened, where their tools can tell."""
        effects = ("once", "keyed")
        doubtful = [i for i in pending if isinstance(i, CallTool) and i.effect in effects]
        found = {intent.n: await self.performer.probe(run, intent) for intent in doubtful}
        return {n: answer for n, answer in found.items() if answer is not None}

    async def cancel(self, run: str, reason: str) -> RunState:
        """End a run that nobody drives. A finished run is returned as it is.

        A process that does drive it is fenced: it can record nothing any more, and stops.

        Raises:
            NotFoundError: no such run.
            TamperedError: its journal is not what was written.
        """
        for left in reversed(range(TRIES)):
            before = await restore(self.journal, self.performer.blobs, self.snapshots, run)
            if before.state.phase is Phase.FINISHED:
                return before.state
            try:
                ledger = await self._ledger(run, before)
                break
            except Fenced:  # whoever drove it recorded once more, and from now on nothing
                if not left:
                    raise
        now = self.performer.clock.now()
        receipts, _ = recover(before.open, now)  # what may have happened is not `cancelled`
        await ledger.commit(*receipts, cancelled(now, reason))
        await ledger.finish()
        return ledger.state

    async def entomb(self, run: str, by: str, reason: str) -> tuple[int, int]:
        """Record the tombstone of a finished run; return its epoch, and how many records it means.

        Raises:
            OperatorError: the run is not finished.
            NotFoundError: no such run, or it was pruned before.
        """
        before = await load(self.journal, self.performer.blobs, run)
        if before.state.phase is not Phase.FINISHED:
            raise OperatorError(
                f"Run {run} is not finished: it cannot be pruned.",
                hint=f"End it first: artificer cancel {run}",
            )
        ledger = await self._ledger(run, before)
        last = before.lines[-1]
        if isinstance(last, EventLine) and isinstance(last.event, ev.RunPruned):
            return ledger.epoch, last.event.records  # marked before, and not yet removed
        records = before.head.seq
        now = self.performer.clock.now()
        await ledger.commit(ev.RunPruned(at=now, records=records, by=by, reason=reason))
        await ledger.finish()
        return ledger.epoch, records

    def stop(self, run: str, reason: str) -> None:
        """End a run that this engine drives: open calls are ended and answered ``cancelled``."""
        if run in self._drives:
            self._drives[run].cancel(reason)

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
        if before is not None:
            self.observer.taken_up(run, before.state)
        ledger = Ledger(
            run,
            lease,
            before.state if before else RunState(),
            journal=self.journal,
            blobs=self.performer.blobs,
            provider=self.performer.provider,
            observer=self.observer,
            consult=self.consult,
        )
        ledger.taker = self._taker(run, before)
        return ledger

    def _taker(self, run: str, before: Loaded | None) -> Taker | None:
        if self.snapshots is None:
            return None
        if before is None or not before.kept:
            return Taker(self.snapshots, run, seq=0, messages=0)
        seq = before.head.seq - len(before.lines)
        return Taker(self.snapshots, run, seq=seq, messages=before.kept)

    async def _drive(self, ledger: Ledger, intents: Sequence[Intent]) -> RunState:
        drive = Drive(ledger, self.performer, self.observer, self.post)
        self._drives[ledger.run] = drive
        try:
            return await drive.to_rest(intents)
        finally:
            self._drives.pop(ledger.run, None)
            await ledger.finish()
            self.observer.rested(ledger.run)

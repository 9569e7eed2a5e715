"""The ledger of one run: its state, its place in the journal, and the only way to record.

``commit`` reduces events, establishes the facts that need nothing from the world, and appends all
of it in one commit. What it returns may then be performed: it is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from artificer.core.events import Event
from artificer.core.facts import Judges, OutputCheck, establish, reply_to_check
from artificer.core.intents import CheckReply, Intent, JudgeCalls
from artificer.core.state import RunState
from artificer.errors import ArtificerError, BudgetError, Fenced, OperatorError, TamperedError
from artificer.ownership.local import FormerOwner, Hold
from artificer.ports import (
    Anchored,
    BlobStore,
    Fencing,
    Joined,
    Journal,
    Lease,
    Provider,
    Settlement,
    Spending,
)
from artificer.runtime.batch import Batch
from artificer.runtime.cited_data import data_for
from artificer.runtime.limits.accounts import Charges
from artificer.runtime.limits.budgets import NO_BUDGETS
from artificer.runtime.outcome import Outcome
from artificer.runtime.requests.prepared import Requests
from artificer.runtime.requests.sending import size_of
from artificer.runtime.snapshot import Snapshotter
from artificer.runtime.watching.observe import Observer
from artificer.system.tasks import checkpoint, finished, shielded

log = logging.getLogger("artificer.runtime.ledger")


class Ledger:
    """The one writer of one run, for as long as its lease holds."""

    def __init__(
        self,
        hold: Hold,
        lease: Lease,
        state: RunState,
        *,
        journal: Journal,
        blobs: BlobStore,
        provider: Provider | None,
        observer: Observer,
        judges: Judges | None = None,
    ) -> None:
        self.run = hold.run
        self.state = state
        self.requests = Requests(provider)
        self._epoch = lease.epoch
        self._head = lease.head
        self._journal = journal
        self._blobs = blobs
        # Each run asks this, and `isinstance` with a protocol takes 20 µs in Python 3.11.
        self._joins: Callable[[bytes], bool] | None = getattr(blobs, Joined.joins.__name__, None)
        self._observer = observer
        self._hold = hold
        self._judges = judges
        self._reserved: dict[int, Charges] = {}
        self.budgets = NO_BUDGETS
        self.snapshotter: Snapshotter | None = None

    @property
    def epoch(self) -> int:
        """The epoch in which this ledger may write."""
        return self._epoch

    @property
    def former(self) -> FormerOwner:
        """The state of the run's former owner when the run was acquired."""
        return self._hold.former

    @property
    def was_unreleased(self) -> bool:
        """Whether that owner had not let go of the run."""
        return self._hold.unreleased

    async def commit(self, *events: Event, outcomes: Sequence[Outcome] = ()) -> Sequence[Intent]:
        """Record events and all that follows from them; return the intents to be performed.

        ``outcomes`` are what the events came from: what else they hold is part of the commit. And
        so is the reservation of what a request may cost that the events lead to.

        Nothing has changed when this raises an error of ours, but for an AuthorError: the reply is
        recorded then, and not its check. When the waiting task is cancelled, the append in progress
        ends first: it is never in doubt whether something was recorded.

        Raises:
            AuthorError: the agent's own code failed, instead of accepting or rejecting a reply.
            Fenced: another process took the run over.
            TransitionError: an event has no place in the run's phase.
        """
        settlements = [s for outcome in outcomes for s in outcome.settlements]
        try:
            if not events:
                return ()
            batch = Batch(self.run, self._head, self.state, self.requests)
            for outcome in outcomes:
                batch.blobs += outcome.blobs
            return await self._commit(batch, events, settlements)
        except ArtificerError as error:  # what cannot be recorded is paid for all the same
            if isinstance(error, Fenced):
                self._observer.fenced(self.run)
            await self._settle(settlements)
            raise
        finally:
            for outcome in outcomes:
                outcome.charges.release()

    async def import_facts(self, facts: Sequence[Event], *events: Event) -> Sequence[Intent]:
        """Record facts that another run established, as they are, and then events of this one.

        Returns and raises what :meth:`commit` does; what the facts once led to is not performed.
        """
        batch = Batch(self.run, self._head, self.state, self.requests)
        for fact in facts:
            batch.reduce(fact)
        batch.external.clear()
        batch.adopted = len(batch.lines)
        return await self._commit(batch, events, [])

    async def _commit(
        self, batch: Batch, events: Sequence[Event], settlements: list[Settlement]
    ) -> Sequence[Intent]:
        """Append events and what follows from them; empty ``settlements`` once they are recorded.

        A reply is durable before the agent's own code checks it, however that ends.
        """
        waiting: deque[Event] = deque(events)
        external: list[Intent] = []
        while waiting:
            event = waiting.popleft()
            facts: list[Event] = []
            for intent in batch.reduce(event):
                judges, reply = self._judges, self._foreign(batch.state, intent)
                if reply is not None:
                    check, text = reply
                    await self._append(batch, settlements, event.at)
                    external += batch.external
                    batch = Batch(self.run, self._head, self.state, self.requests)
                    checked = await check.problems(text)
                    judges = replace(judges or Judges(), checked=checked)
                if data := await self._cited(batch.state, intent):
                    judges = replace(judges or Judges(), sources=data)
                fact, blob = establish(batch.state, intent, event.at, judges)
                facts.append(fact)
                if blob is not None:
                    batch.blobs.append(blob)
            waiting.extendleft(reversed(facts))
        await self._append(batch, settlements, events[-1].at)
        return [*external, *batch.external]

    async def _cited(self, state: RunState, intent: Intent) -> Mapping[str, bytes]:
        """Return the data of the results that calls to be judged are bound to."""
        if not isinstance(intent, JudgeCalls) or not state.sources:
            return {}
        return await asyncio.to_thread(data_for, state, intent, self._blobs)

    def _foreign(self, state: RunState, intent: Intent) -> tuple[OutputCheck, str] | None:
        """Return the agent's own code about a final reply and the reply; None if there is none."""
        check = self._judges.check if self._judges is not None else None
        if check is None or not isinstance(intent, CheckReply):
            return None
        reply = reply_to_check(state)
        return None if reply is None else (check, reply)

    async def _append(self, batch: Batch, unsettled: list[Settlement], now: int) -> None:
        joined, apart = self._sorted(batch.blobs)
        if apart:  # before the records: what these cite is there
            await finished(asyncio.to_thread(self._store, apart))
        charges = self._charges(batch, now)
        wanted = [r for charge in charges.values() for r in charge.reservations()]
        settlements = tuple(unsettled)
        append = partial(
            self._journal.append, self.run, self._epoch, self._head, batch.records, joined
        )
        try:
            self._head = await finished(append(Spending(settlements, wanted)))
            self._keep(charges)
        except BudgetError:  # the request itself finds out why, and that is recorded
            self._head = await finished(append(Spending(settlements)))
        except TamperedError as error:  # what happened is recorded, whatever a budget looks like
            log.warning("a budget cannot be used: %s", error.message)
            self._head = await finished(append())
        unsettled.clear()
        self.requests.recorded = batch.tools or self.requests.recorded
        self.state = batch.state
        for number, line in enumerate(batch.lines):
            notify = self._observer.adopted if number < batch.adopted else self._observer.recorded
            notify(self.run, line)
        if self.snapshotter is not None:
            self.snapshotter.offer(self._head, self.state)
        await checkpoint()

    def _charges(self, batch: Batch, now: int) -> dict[int, Charges]:
        """Return what the requests of a batch may cost, by intent, where the price is known."""
        found: dict[int, Charges] = {}
        for intent, prepared in batch.requests_made:
            if intent not in batch.external:
                continue
            size = size_of(batch.state, intent, prepared)
            charges = self.budgets.charges(batch.state.run_spec, size, now)
            if isinstance(charges, Charges):
                found[intent.n] = charges
        return found

    def _keep(self, charges: dict[int, Charges]) -> None:
        for charge in charges.values():
            charge.reserved()
        self._reserved.update(charges)

    def charges_of(self, intent: Intent) -> Charges | None:
        """Return what was reserved with an intent; None when it has to be reserved now.

        The caller releases them when the request has ended.
        """
        return self._reserved.pop(intent.n, None)

    async def _settle(self, settlements: Sequence[Settlement]) -> None:
        try:
            await self.budgets.settle(settlements)
        except OperatorError as error:
            log.warning("what a request has cost is not counted: %s", error.message)

    async def anchor(self) -> None:
        """Make it provable that what was recorded here was recorded, before an effect.

        And make sure that the run is still ours, if someone may have taken our lease for ended.

        Raises:
            Fenced: another process took the run over.
            OperatorError: it cannot be. The effect must not start.
        """
        if isinstance(self._journal, Anchored):
            await self._journal.anchor()
        lapses = await self._hold.stay()
        if lapses != self._hold.lapses and isinstance(self._journal, Fencing):
            await self._journal.check(self.run, self._epoch)
        self._hold.lapses = lapses

    async def finish(self) -> None:
        """Wait for writes outside the journal, release the run, and let the observer know."""
        try:
            if self.snapshotter is not None:
                await self.snapshotter.finish()
        finally:
            await shielded(self._release())

    async def _release(self) -> None:
        released = False
        unused, self._reserved = list(self._reserved.values()), {}
        await self.budgets.give_back(unused)
        try:
            await self._journal.release(self.run, self._epoch)
            released = True
        except ArtificerError as error:  # with the next run, or at the end of this process
            log.warning("run %s could not be released: %s", self.run, error)
        finally:
            self._hold.end(released=released, epoch=self._epoch)
            self._observer.idle(self.run)
        if released:
            await self._release_left()

    async def _release_left(self) -> None:
        """Release the runs that could not be released when they ended, as on a full disk."""
        for run, epoch in self._hold.left():
            with suppress(ArtificerError):
                await self._journal.release(run, epoch)
                self._hold.was_released(run, epoch)

    def _sorted(self, blobs: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """The blobs that share the records' commit, and those that do not."""
        joins = self._joins
        if joins is None:
            return [], blobs
        apart = [blob for blob in blobs if not joins(blob)]
        return ([blob for blob in blobs if joins(blob)] if apart else blobs), apart

    def _store(self, blobs: list[bytes]) -> None:
        for blob in blobs:
            self._blobs.put(blob)

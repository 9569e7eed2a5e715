"""The ledger of one run: its state, its place in the journal, and the one way to record.

``commit`` reduces events, establishes the facts that need nothing from the world, and appends all
of it in one commit. What it returns may then be performed: it is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial

from artificer.core.events import Event
from artificer.core.facts import Judges, establish, reply_to_check
from artificer.core.intents import INLINE, CheckReply, Compact, Generate, Intent
from artificer.core.outputs import outputs_of
from artificer.core.record import EventLine, IntentLine, encode
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.errors import ArtificerError, BudgetError, OperatorError, TamperedError
from artificer.ownership.local import FormerOwner, Hold
from artificer.ports import (
    Anchored,
    BlobStore,
    Head,
    Joined,
    Journal,
    Lease,
    Payload,
    Provider,
    Record,
    Settlement,
    Spending,
)
from artificer.runtime.budgets import NO_BUDGETS, Charges
from artificer.runtime.model_requests import size_of
from artificer.runtime.observe import Observer
from artificer.runtime.outcome import Outcome
from artificer.runtime.requests import Requests, asks
from artificer.runtime.snapshot import Taker
from artificer.shielded import checkpoint, finished, shielded
from artificer.values.canon import digest_of
from artificer.values.model import ModelFailure

log = logging.getLogger("artificer.runtime.ledger")


class _Batch:
    """Records that will be appended together."""

    def __init__(self, run: str, head: Head, state: RunState, requests: Requests) -> None:
        self.run = run
        self.last: Head | Record = head
        self.state = state
        self.lines: list[EventLine | IntentLine] = []
        self.records: list[Record] = []
        self.blobs: list[bytes] = []
        self.external: list[Intent] = []
        self.adopted = 0
        self.requests_made: list[tuple[Generate | Compact, Payload]] = []
        self._requests = requests

    def reduce(self, event: Event) -> list[Intent]:
        """Record an event and the intents that follow; return those to be done at once."""
        outputs, blobs = outputs_of(self.state, event)
        self.blobs.extend(blobs)
        self.state, intents = reduce(self.state, event)
        self._add(
            EventLine(
                run=self.run,
                seq=self.last.seq + 1,
                prev=self.last.hash,
                event=event,
                state=self.state.digest,
                outputs=outputs,
            )
        )
        for intent in intents:
            self._intend(intent)
        self.external.extend(i for i in intents if not isinstance(i, INLINE))
        return [i for i in intents if isinstance(i, INLINE)]

    def _intend(self, intent: Intent) -> None:
        request, tools = None, None
        if asks(intent):
            payload, request = self._requests.prepare(self.state, intent)
            self.requests_made.append((intent, payload))
            tools = self._requests.tools(self.state, payload)
        if tools is not None:
            self.blobs.append(tools[1])
        self._add(
            IntentLine(
                run=self.run,
                seq=self.last.seq + 1,
                prev=self.last.hash,
                intent=intent,
                digest=intent.digest,
                request=request,
                tools=() if tools is None else tools[:1],
            )
        )

    def _add(self, line: EventLine | IntentLine) -> None:
        body, blobs = encode(line)
        record = Record(run=self.run, seq=line.seq, hash=digest_of(body), body=body)
        self.lines.append(line)
        self.records.append(record)
        self.blobs.extend(blobs)
        self.last = record


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
        provider: Provider,
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
        self._joined = blobs if isinstance(blobs, Joined) else None  # asking costs as 20 blobs do
        self._observer = observer
        self._hold = hold
        self._judges = judges
        self._reserved: dict[int, Charges] = {}
        self.budgets = NO_BUDGETS
        self.taker: Taker | None = None

    @property
    def epoch(self) -> int:
        """The epoch in which this ledger may write."""
        return self._epoch

    @property
    def former(self) -> FormerOwner:
        """The state of the run's former owner when the run was acquired."""
        return self._hold.former

    async def commit(self, *events: Event, outcomes: Sequence[Outcome] = ()) -> Sequence[Intent]:
        """Record events and all that follows from them; return the intents to be performed.

        ``outcomes`` are what the events came from: what else they hold is part of the commit. And
        so is the reservation of what a request may cost that the events lead to.

        Nothing has changed when this raises an error of ours. When the waiting task is cancelled,
        the commit comes to its end first: it is never in doubt whether something was recorded.

        Raises:
            Fenced: another process took the run over.
            TransitionError: an event has no place in the run's phase.
        """
        settlements = [s for outcome in outcomes for s in outcome.settlements]
        try:
            if not events:
                return ()
            batch = _Batch(self.run, self._head, self.state, self.requests)
            batch.blobs += [blob for outcome in outcomes for blob in outcome.blobs]
            return await self._commit(batch, events, settlements)
        except ArtificerError:  # what cannot be recorded is paid for all the same
            await self._settle(settlements)
            raise
        finally:
            for outcome in outcomes:
                outcome.charges.release()

    async def import_facts(self, facts: Sequence[Event], *events: Event) -> Sequence[Intent]:
        """Record facts that another run established, as they are, and then events of this one.

        Returns and raises what :meth:`commit` does; what the facts once led to is not performed.
        """
        batch = _Batch(self.run, self._head, self.state, self.requests)
        for fact in facts:
            batch.reduce(fact)
        batch.external.clear()
        batch.adopted = len(batch.lines)
        return await self._commit(batch, events)

    async def _commit(
        self, batch: _Batch, events: Sequence[Event], settlements: Sequence[Settlement] = ()
    ) -> Sequence[Intent]:
        waiting: deque[Event] = deque(events)
        while waiting:
            event = waiting.popleft()
            facts: list[Event] = []
            for intent in batch.reduce(event):
                judges = await self._informed(batch.state, intent)
                fact, blob = establish(batch.state, intent, event.at, judges)
                facts.append(fact)
                if blob is not None:
                    batch.blobs.append(blob)
            waiting.extendleft(reversed(facts))
        await self._append(batch, settlements, events[-1].at)
        return batch.external

    async def _informed(self, state: RunState, intent: Intent) -> Judges | None:
        """Return the judges, with the answer of the agent's own code about a final reply."""
        judges = self._judges
        if judges is None or judges.check is None or not isinstance(intent, CheckReply):
            return judges
        reply = reply_to_check(state)
        return (
            judges if reply is None else judges._replace(checked=await judges.check.problems(reply))
        )

    async def _append(self, batch: _Batch, settlements: Sequence[Settlement], now: int) -> None:
        joined, apart = self._sorted(batch.blobs)
        if apart:  # before the records: what these cite is there
            await finished(asyncio.to_thread(self._store, apart))
        charges = self._charges(batch, now)
        wanted = [r for charge in charges.values() for r in charge.reservations()]
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
        self.state = batch.state
        for number, line in enumerate(batch.lines):
            tell = self._observer.adopted if number < batch.adopted else self._observer.recorded
            tell(self.run, line)
        if self.taker is not None:
            self.taker.offer(self._head, self.state)
        await checkpoint()

    def _charges(self, batch: _Batch, now: int) -> dict[int, Charges]:
        """Return what the requests of a batch may cost, by intent, where the price is known."""
        waiting = {intent.n for intent in batch.external}
        found = {
            intent.n: self.budgets.charges(
                batch.state.run_spec, size_of(batch.state, intent, payload), now
            )
            for intent, payload in batch.requests_made
            if intent.n in waiting
        }
        return {n: charges for n, charges in found.items() if isinstance(charges, Charges)}

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

    async def _give_back(self) -> None:
        """Give back what was reserved for requests that were never made."""
        unused, self._reserved = list(self._reserved.values()), {}
        never = ModelFailure(code="budget", message="")
        await self._settle([s for charges in unused for s in charges.settlements(never)])
        for charges in unused:
            charges.release()

    async def anchor(self) -> None:
        """Make it provable that what was recorded here was recorded: before an effect.

        Raises:
            OperatorError: it cannot be. The effect must not start.
        """
        if isinstance(self._journal, Anchored):
            await self._journal.anchor()

    async def finish(self) -> None:
        """Wait for writes outside of the journal, and release the run."""
        try:
            if self.taker is not None:
                await self.taker.finish()
        finally:
            await shielded(self._release())

    async def _release(self) -> None:
        released = False
        await self._give_back()
        try:
            await self._journal.release(self.run, self._epoch)
            released = True
        except ArtificerError as error:  # the end of this process will tell the next owner
            log.warning("run %s could not be released: %s", self.run, error)
        finally:
            self._hold.end(released=released)

    def _sorted(self, blobs: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """The blobs that share the records' commit, and those that do not."""
        if self._joined is None:
            return [], blobs
        joins = self._joined.joins
        apart = [blob for blob in blobs if not joins(blob)]
        return ([blob for blob in blobs if joins(blob)] if apart else blobs), apart

    def _store(self, blobs: list[bytes]) -> None:
        for blob in blobs:
            self._blobs.put(blob)

"""Driving a build: perform what it wishes for, record what came of it, until it is over or waits.

Facts are recorded before anything follows from them. Whoever drives a build anew reads the facts
and performs the wishes that are open; each comes to the same as if it had not been interrupted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from artificer.build.perform import TreePerformer, keep_for
from artificer.loops.build import BuildState
from artificer.loops.facts import Checked, Decided, Fact, RunReturned
from artificer.loops.scheduler import schedule
from artificer.loops.wishes import (
    AskDecision,
    CancelRun,
    Check,
    MergeSpec,
    PrepareBase,
    RebuildIntegration,
    StartRun,
    Wish,
)
from artificer.values.base import Digest

Record = Callable[[Fact], Awaitable[None]]
"""Makes a fact durable. Raises if somebody else drives the build: then nothing follows."""


class Hands(Protocol):
    """What driving a build asks of whoever has models and people."""

    async def run(self, state: BuildState, wish: StartRun) -> RunReturned | None:
        """Start or take up the run of this wish. None if it waits for an operator."""

    async def judge(self, state: BuildState, wish: Check) -> Checked | None:
        """Have an artifact judged. None if the judge's run waits for an operator."""

    async def decide(self, state: BuildState, wish: AskDecision) -> Decided | None:
        """Ask a person about the plan. None if nobody is here to ask."""

    async def cancel(self, wish: CancelRun) -> None:
        """End the run with this key, if it is under way."""


def replayed(facts: Iterable[Fact]) -> BuildState:
    """The state that recorded facts add up to."""
    state = BuildState()
    for fact in facts:
        state, _ = schedule(state, fact)
    return state


class Driver:
    """Drives one build. ``now`` gives the time in seconds, for commits."""

    def __init__(
        self,
        state: BuildState,
        *,
        record: Record,
        hands: Hands,
        tree: TreePerformer,
        now: Callable[[], int],
    ) -> None:
        self.state = state
        self._record, self._hands, self._tree, self._now = record, hands, tree, now
        self._under_way: dict[Digest, asyncio.Task[Fact | None]] = {}
        self._waiting: set[Digest] = set()
        self._telling = asyncio.Lock()

    async def tell(self, fact: Fact) -> None:
        """Record a fact and what follows from it. A fact that changes nothing is not recorded."""
        async with self._telling:
            after, wishes = schedule(self.state, fact)
            if after == self.state:
                return
            await self._record(fact)
            self.state = after
            for wish in wishes:
                if isinstance(wish, CancelRun):
                    await self._end(wish)

    async def go(self) -> BuildState:
        """Go on until the build is over, is stalled, or everything open waits for somebody.

        Cancelling this ends the work under way and leaves the build as its facts have it.
        """
        await self._tree.repository.clean_up(keep_for(self.state))
        self._waiting.clear()
        try:
            while self._begin():
                done, _ = await asyncio.wait(
                    self._under_way.values(), return_when=asyncio.FIRST_COMPLETED
                )
                for key in [k for k, task in self._under_way.items() if task in done]:
                    await self._came(key)
        finally:
            await self._end_all()
        return self.state

    async def _came(self, key: Digest) -> None:
        """A wish has been performed. What an earlier fact of this round ended is gone already."""
        task = self._under_way.pop(key, None)
        if task is None:
            return
        fact = task.result()
        if fact is None:
            self._waiting.add(key)
        else:
            await self.tell(fact)

    def _begin(self) -> bool:
        """Begin whatever is open; return whether anything is under way."""
        for wish in self.state.open:
            if wish.key not in self._under_way and wish.key not in self._waiting:
                self._under_way[wish.key] = asyncio.create_task(self._perform(wish))
        return bool(self._under_way)

    async def _perform(self, wish: Wish) -> Fact | None:
        match wish:
            case StartRun():
                return await self._hands.run(self.state, wish)
            case AskDecision():
                return await self._hands.decide(self.state, wish)
            case PrepareBase() | MergeSpec() | RebuildIntegration():
                return await self._tree.perform(wish)
            case Check() if wish.step.kind == "code":
                return await self._tree.check(self.state, wish, self._now())
            case Check():
                return await self._hands.judge(self.state, wish)
        return None

    async def _end(self, wish: CancelRun) -> None:
        task = self._under_way.pop(wish.key, None)
        if task is not None:
            await _cancelled(task)
        self._waiting.discard(wish.key)
        await self._hands.cancel(wish)

    async def _end_all(self) -> None:
        tasks = list(self._under_way.values())
        self._under_way.clear()
        for task in tasks:
            task.cancel()
        for task in tasks:
            await _cancelled(task)


async def _cancelled(task: asyncio.Task[Fact | None]) -> None:
    """End a task and see it end; what it came to is no longer wanted."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()  # seen: the state says what is true, not this

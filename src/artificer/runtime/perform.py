"""Performing one intent in the world, and returning the event of its outcome."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool
from artificer.core.overruled import overruled_event
from artificer.core.signals import Pause, Steer, Tick, answer, opened, read_signal
from artificer.core.state import RunState
from artificer.errors import AuthorError, InvariantError, places
from artificer.plugins import load
from artificer.ports import (
    Answer,
    Approver,
    BlobStore,
    Builder,
    Clock,
    Executor,
    Lasting,
    Locks,
    Provider,
    Question,
)
from artificer.runtime.effects_log import log
from artificer.runtime.limits.budgets import NO_BUDGETS, Budgets
from artificer.runtime.limits.request_permits import NO_REQUEST_PERMITS, RequestPermits
from artificer.runtime.living_calls import LIVING_CALLS, LivingCalls
from artificer.runtime.requests.sending import ModelRequests
from artificer.runtime.tool_calls import ToolCalls, measured


class Performer(Struct, frozen=True):
    """Performs intents: with one provider, the tools, an approver and a clock.

    Without an approver, a call that the policy asks about waits for a signal. ``grace_s`` is how
    much longer than its timeout a call may take to end its work and report. ``budgets`` limit the
    spending. ``clean`` removes the secrets of the environment from the results of tools: nothing
    is recorded before. Requests wait for their ``permits``. ``locks`` are those that the processes
    of calls hold. ``living`` are the calls that continue after their end. Where it does not map
    requests, the provider is not the run's own: nothing is sent. ``duration_of`` returns the
    duration to record of a call that started at a moment of the monotonic clock.
    """

    provider: Provider
    executors: Mapping[str, Executor]
    approver: Approver | None
    blobs: BlobStore
    clock: Clock
    grace_s: float = 5.0
    builder: Builder | None = None
    budgets: Budgets = NO_BUDGETS
    clean: Callable[[str], str] = str
    locks: Locks | None = None
    living: LivingCalls = LIVING_CALLS
    permits: RequestPermits = NO_REQUEST_PERMITS
    maps_requests: bool = True
    duration_of: Callable[[CallTool, float], int] = measured

    @property
    def mapper(self) -> Provider | None:
        """The provider, if it maps requests as the run's own does; None if nobody here can."""
        return self.provider if self.maps_requests else None

    @property
    def model_requests(self) -> ModelRequests:
        """The performer's requests to its model."""
        return ModelRequests(
            self.provider, self.clock, self.budgets, self.blobs, self.clean, self.permits
        )

    @property
    def tool_calls(self) -> ToolCalls:
        """The calls of the performer's tools."""
        return ToolCalls(
            self.executors,
            self.blobs,
            self.clock,
            self.grace_s,
            self.clean,
            self.locks,
            self.living,
            self.duration_of,
        )

    async def receive(
        self, run: str, state: RunState, number: int, body: bytes, withdrawn: Container[int] = ()
    ) -> ev.Event:
        """Return the event of a signal; a build relays it to its runs.

        ``withdrawn`` are the signals that a later one takes back.
        """
        signal = read_signal(body)
        if number in withdrawn:
            return overruled_event(number, signal, self.clock.now())
        if isinstance(signal, (Steer, Pause)) and self.builder is not None:
            await self.builder.relay(run, state, body)
        opening = _ticked(self.blobs) if isinstance(signal, Tick) else opened
        return opening(state, number, signal, self.clock.now())

    def recall(self, run: str, calls: Mapping[str, int]) -> None:
        """Pass on to the executors how often the run has called which tools in other processes."""
        for executor in self._lasting():
            executor.recall(run, calls)

    async def release(self, run: str) -> None:
        """End the processes that the run's calls have left alive."""
        endings = (executor.release(run) for executor in self._lasting())
        for failure in await asyncio.gather(*endings, return_exceptions=True):
            if isinstance(failure, Exception):  # the run itself is whole, and recorded
                log.error("what tools left alive could not be ended\n%s", places(failure))

    def _lasting(self) -> list[Lasting]:
        unique = {id(e): e for e in self.executors.values()}
        return [e for e in unique.values() if isinstance(e, Lasting)]

    async def ask_approver(self, run: str, intent: AskApproval) -> ev.ApprovalAnswered:
        """Ask the approver."""
        if self.approver is None:
            raise InvariantError("The run has no approver.")
        question = Question(
            run=run,
            tool=intent.tool,
            arguments=intent.arguments,
            reason=intent.reason,
            digest=intent.call,
        )
        pending: object = self.approver.ask(question)
        if not inspect.isawaitable(pending):
            raise AuthorError(
                f"The method `ask` of the approver is not asynchronous; it returned {pending!r}.",
                hint="Write `async def ask(self, question) -> Answer`, then resume the run.",
            )
        decision: object = await pending
        if not isinstance(decision, Answer):
            raise AuthorError(
                f"The approver answered {decision!r} to a call of {intent.tool}.",
                hint='Return Answer(approved=True, by="…"), then resume the run.',
            )
        return answer(
            self.clock.now(),
            intent.n,
            intent.tool,
            approved=decision.approved,
            by=decision.by,
            reason=decision.reason,
        )


def _ticked(blobs: BlobStore) -> Callable[[RunState, int, Any, int], ev.Event]:
    """Return what makes the event of a tick, imported for the first: most runs have no lists."""
    return partial(load("artificer.runtime.ticks:event_of"), blobs)

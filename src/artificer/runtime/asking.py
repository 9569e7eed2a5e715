"""Asking the model, within the run's time and the world's budget, and telling what came of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from artificer.core import events as ev
from artificer.core.intents import Compact, Generate
from artificer.core.reported import counted
from artificer.core.rules import since
from artificer.core.state import RunState
from artificer.errors import OperatorError
from artificer.ports import BlobStore, Clock, Payload, Provider
from artificer.runtime.allowance import Allowance, Reservation
from artificer.runtime.cleaning import CleanDeltas, cleaned_reply
from artificer.runtime.compacted import compacted
from artificer.runtime.effects_log import log, ms_since, tell
from artificer.values.canon import canonical
from artificer.values.model import Delta, ModelFailure, ModelReply, Usage
from artificer.values.tokens import tokens_of

OnDelta = Callable[[Delta], None]
_Reserved = list[tuple[Allowance, Reservation]]


@dataclass(frozen=True)
class Asked:
    """The result of a request. ``raw`` is the blob of the provider's own response.

    The reply's usage is what counts; ``reported`` is the provider's report, where that is another.
    """

    reply: ModelReply | ModelFailure
    duration_ms: int = 0
    raw: str | None = None
    reported: Usage | None = None


@dataclass(frozen=True)
class Asker:
    """Performs the intents that ask a model. Each of the ``allowances`` has to hold a request."""

    provider: Provider
    blobs: BlobStore
    clock: Clock
    allowances: tuple[Allowance, ...]
    clean: Callable[[str], str] = str

    async def generate(
        self, run: str, intent: Generate, state: RunState, payload: Payload, on_delta: OnDelta
    ) -> ev.Event:
        """Ask for the next reply. Returns ModelResponded or ModelFailed."""
        request = state.request()
        asked = await self._ask(
            run, intent, state, payload, on_delta, (state.context_tokens, request.max_tokens)
        )
        reply = asked.reply
        if isinstance(reply, ModelFailure):
            return ev.ModelFailed(
                at=self.clock.now(),
                intent=intent.n,
                code=reply.code,
                message=reply.message,
                attempts=reply.attempts,
                duration_ms=asked.duration_ms,
                raw=asked.raw,
            )
        price = state.given.price
        return ev.ModelResponded(
            at=self.clock.now(),
            intent=intent.n,
            blocks=reply.blocks,
            stop=reply.stop,
            usage=reply.usage,
            model=reply.model,
            response_id=reply.response_id,
            attempts=reply.attempts,
            duration_ms=asked.duration_ms,
            cost_micros=None if price is None else price.micros(reply.usage),
            raw=asked.raw,
            reported=asked.reported,
        )

    async def compact(
        self, run: str, intent: Compact, state: RunState, payload: Payload | None
    ) -> ev.Event:
        """Ask for a summary. Returns ContextCompacted, or CompactionFailed when there is none."""
        if payload is None:
            why = "There is no budget for it." if state.given.compaction else "None is wanted."
            return compacted(state, intent, self.clock.now(), not_asked=why)
        need = (tokens_of(canonical(payload.body)), intent.max_tokens)
        asked = await self._ask(run, intent, state, payload, _ignore, need)
        return compacted(
            state,
            intent,
            self.clock.now(),
            reply=asked.reply,
            duration_ms=asked.duration_ms,
            raw=asked.raw,
        )

    async def _ask(
        self,
        run: str,
        intent: Generate | Compact,
        state: RunState,
        payload: Payload,
        on_delta: OnDelta,
        need: tuple[int, int],
    ) -> Asked:
        """Ask the model. ``need`` are the tokens of the request and of its longest reply."""
        spec, reserved = state.given, await self._reserve(state, *need)
        if isinstance(reserved, ModelFailure):
            return Asked(reserved)
        started = time.monotonic()
        try:
            reply = await self._reply(payload, on_delta, state.time_left / 1000)
            duration = ms_since(started)
            reported = None
            if since(spec, 2):
                reply, reported = _counted(reply, payload, need)
            await self._settle(reserved, reply)
        finally:
            for allowance, _ in reserved:
                allowance.release()
        raw = None
        if reply.raw is not None:
            raw = await asyncio.to_thread(self.blobs.put, reply.raw)
        tell(
            "model",
            run,
            intent,
            duration,
            provider=self.provider.name,
            model=spec.model,
            outcome=reply.code if isinstance(reply, ModelFailure) else reply.stop,
            attempts=reply.attempts,
            raw=raw,
        )
        return Asked(reply, duration, raw, reported)

    async def _reply(
        self, payload: Payload, on_delta: OnDelta, left_s: float
    ) -> ModelReply | ModelFailure:
        limit = asyncio.timeout(left_s)
        try:
            async with limit:
                deltas = CleanDeltas(self.clean, on_delta)
                reply = await self.provider.generate(payload, deltas)
                deltas.flush()
                return cleaned_reply(reply, self.clean)
        except TimeoutError:
            if not limit.expired():
                raise
            return ModelFailure(code="out_of_time", message="The run's time was over.")

    async def _reserve(self, state: RunState, tokens: int, reply: int) -> _Reserved | ModelFailure:
        held: _Reserved = []
        for allowance in self.allowances:
            now = self.clock.now()
            reserved = await allowance.reserve(now, tokens, reply, state.given)
            if isinstance(reserved, ModelFailure):  # the request is not made
                await self._settle(held, reserved)
                for other, _ in held:
                    other.release()
                return reserved
            held.append((allowance, reserved))
        return held

    async def _settle(self, reserved: _Reserved, reply: ModelReply | ModelFailure) -> None:
        for allowance, reservation in reserved:
            try:
                await allowance.settle(reservation, reply)
            except OperatorError as error:  # a reply that is paid for is not thrown away for that
                log.warning("what a request has cost is not counted: %s", error.message)


def _counted(
    reply: ModelReply | ModelFailure, payload: Payload, need: tuple[int, int]
) -> tuple[ModelReply | ModelFailure, Usage | None]:
    """The reply with the usage that counts, and the provider's report if that is another."""
    if isinstance(reply, ModelFailure):
        return reply, None
    usage = counted(
        reply.usage,
        estimate=need[0],
        sent=lambda: canonical(payload.body),
        blocks=reply.blocks,
        longest=need[1],
    )
    if usage == reply.usage:
        return reply, None
    return reply.model_copy(update={"usage": usage}), reply.usage


def _ignore(delta: Delta) -> None:
    """A summary is not shown while it forms."""

"""Requests to the model, within the run's time and the budgets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from msgspec import Struct, structs

from artificer.core import events as ev
from artificer.core.intents import Compact, Generate
from artificer.core.reported import counted
from artificer.core.rules import since
from artificer.core.state import RunState
from artificer.errors import ArtificerError, InvalidValueError, message_of
from artificer.ports import BlobStore, Clock, PreparedRequest, Provider
from artificer.runtime.cleaning import CleanDeltas, cleaned_reply
from artificer.runtime.effects_log import log_effect, ms_since
from artificer.runtime.limits.accounts import NO_CHARGES, Charges, RequestSize
from artificer.runtime.limits.budgets import Budgets
from artificer.runtime.limits.request_permits import NO_REQUEST_PERMITS, RequestPermits
from artificer.runtime.outcome import Outcome
from artificer.runtime.requests.attempts import RequestAttempts
from artificer.runtime.requests.compacted import compacted
from artificer.runtime.requests.prepared import provider_error, provider_of
from artificer.system.tasks import cancelling, shielded
from artificer.values.canon import MAX_SAFE_INTEGER, canonical, digest_of
from artificer.values.model import Delta, ModelFailure, ModelReply, Usage
from artificer.values.tokens import tokens_of

OnDelta = Callable[[Delta], None]


def size_of(state: RunState, intent: Generate | Compact, prepared: PreparedRequest) -> RequestSize:
    """Return the size of a request, to reserve what it may cost."""
    if isinstance(intent, Generate):
        return RequestSize(state.context_tokens, state.longest_reply)
    return RequestSize(tokens_of(canonical(prepared.body)), intent.max_tokens)


class RequestResult(Struct, frozen=True, gc=False):
    """The result of a request. ``raw`` is the provider's own response, as it came.

    The reply's usage is what counts; ``reported`` is the provider's report, where that is another.
    ``cost_nothing`` says that all attempts were refused.
    """

    reply: ModelReply | ModelFailure
    duration_ms: int = 0
    raw: bytes | None = None
    reported: Usage | None = None
    charges: Charges = NO_CHARGES
    cost_nothing: bool = False

    @property
    def raw_digest(self) -> str | None:
        """The blob of the provider's own response."""
        return None if self.raw is None else digest_of(self.raw)

    def outcome(self, event: ev.Event) -> Outcome:
        """Return an event with what belongs into its commit."""
        charges = self.charges
        settled = charges.unused() if self.cost_nothing else charges.settlements(self.reply)
        blobs = () if self.raw is None else (self.raw,)
        return Outcome(event, blobs, tuple(settled), charges)


class ModelRequests(Struct, frozen=True):
    """Performs the intents that make a request. Its ``budgets`` have to allow it.

    It is sent as soon as there is one of the ``permits`` of its provider and its model.
    Attachments are read from ``blobs`` then.
    """

    provider: Provider
    clock: Clock
    budgets: Budgets
    blobs: BlobStore
    clean: Callable[[str], str] = str
    permits: RequestPermits = NO_REQUEST_PERMITS

    async def generate(
        self,
        run: str,
        intent: Generate,
        state: RunState,
        prepared: PreparedRequest,
        on_delta: OnDelta,
        charges: Charges | None,
    ) -> Outcome:
        """Ask for the next reply. The event is ModelResponded or ModelFailed.

        ``charges`` have been reserved with the intent; with None they are reserved now.
        """
        result = await self._request(run, intent, state, prepared, on_delta, charges)
        reply = result.reply
        if isinstance(reply, ModelFailure):
            return result.outcome(
                ev.ModelFailed(
                    at=self.clock.now(),
                    intent=intent.n,
                    code=reply.code,
                    message=reply.message,
                    attempts=reply.attempts,
                    duration_ms=result.duration_ms,
                    raw=result.raw_digest,
                )
            )
        price = state.run_spec.price
        return result.outcome(
            ev.ModelResponded(
                at=self.clock.now(),
                intent=intent.n,
                blocks=reply.blocks,
                stop=reply.stop,
                usage=reply.usage,
                model=reply.model,
                response_id=reply.response_id,
                attempts=reply.attempts,
                duration_ms=result.duration_ms,
                cost_micros=None if price is None else price.micros(reply.usage),
                raw=result.raw_digest,
                reported=result.reported,
            )
        )

    async def compact(
        self,
        run: str,
        intent: Compact,
        state: RunState,
        prepared: PreparedRequest | None,
        charges: Charges | None,
    ) -> Outcome:
        """Ask for a summary. The event is ContextCompacted; CompactionFailed when there is none."""
        if prepared is None:
            why = "There is no budget for it." if state.run_spec.compaction else "None is wanted."
            return Outcome(compacted(state, intent, self.clock.now(), not_sent=why))
        result = await self._request(run, intent, state, prepared, _ignore, charges)
        return result.outcome(
            compacted(
                state,
                intent,
                self.clock.now(),
                reply=result.reply,
                duration_ms=result.duration_ms,
                raw=result.raw_digest,
            )
        )

    async def _request(
        self,
        run: str,
        intent: Generate | Compact,
        state: RunState,
        prepared: PreparedRequest,
        on_delta: OnDelta,
        charges: Charges | None,
    ) -> RequestResult:
        spec, began, left_ms = state.run_spec, time.monotonic(), state.time_left
        reserved = charges or await self.budgets.reserve(
            spec, size_of(state, intent, prepared), self.clock.now(), left_ms
        )
        if isinstance(reserved, ModelFailure):
            return RequestResult(reserved)
        left_s = left_ms / 1000 - (time.monotonic() - began)
        attempts, has_left = RequestAttempts(on_delta), False
        try:
            async with self.permits.permit(spec, left_s, on_delta) as waited:
                if isinstance(waited, ModelFailure):
                    result = RequestResult(waited)
                else:
                    left_s -= waited
                    whole = prepared
                    if state.attached.number:
                        whole = await asyncio.to_thread(prepared.with_blobs, self.blobs.get)
                    has_left = True
                    result = await self._send(run, intent, state, prepared, whole, attempts, left_s)
        except BaseException:  # a cancellation too: it would stay reserved for nothing
            if has_left and not attempts.cost_nothing:  # nobody knows its cost: that expires
                reserved.release()
            else:
                await shielded(self.budgets.give_back((reserved,)))
            raise
        is_late = isinstance(result.reply, ModelFailure) and result.reply.code == "out_of_time"
        free = is_late and attempts.cost_nothing
        return structs.replace(result, charges=reserved, cost_nothing=free)

    async def _send(
        self,
        run: str,
        intent: Generate | Compact,
        state: RunState,
        prepared: PreparedRequest,
        whole: PreparedRequest,
        on_delta: OnDelta,
        left_s: float,
    ) -> RequestResult:
        """Send a request, ``whole`` with its attachments."""
        spec, started = state.run_spec, time.monotonic()
        provider = provider_of(self.provider, spec)
        reply = await self._reply(provider, whole, on_delta, left_s)
        duration = ms_since(started)
        reported = None
        if since(spec, 2):
            size = size_of(state, intent, prepared)
            reply, reported = _counted(reply, prepared, size, _attached_tokens(state))
        log_effect(
            "model",
            run,
            intent,
            duration,
            provider=provider.name,
            model=spec.model,
            outcome=reply.code if isinstance(reply, ModelFailure) else reply.stop,
            attempts=reply.attempts,
            raw=reply.raw,
        )
        return RequestResult(reply, duration, reply.raw, reported)

    async def _reply(
        self, provider: Provider, prepared: PreparedRequest, on_delta: OnDelta, left_s: float
    ) -> ModelReply | ModelFailure:
        limit = asyncio.timeout(left_s)
        try:
            async with limit:
                deltas = CleanDeltas(self.clean, on_delta)
                reply = await provider.generate(prepared, deltas)
                deltas.flush()
                return cleaned_reply(_checked(provider, reply), self.clean)
        except ArtificerError:
            raise
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if limit.expired() and isinstance(error, TimeoutError):
                return ModelFailure(code="out_of_time", message="The run's time was over.")
            if isinstance(error, asyncio.CancelledError) and cancelling():
                raise
            raise provider_error(
                provider,
                f"raised {type(error).__name__}: {self.clean(message_of(error))}",
                "A provider returns a ModelFailure for what can go wrong. Fix it and resume the "
                "run.",
            ) from error


def _checked(provider: Provider, reply: object) -> ModelReply | ModelFailure:
    """Return what a provider returned, if it can be recorded and read again."""
    if not isinstance(reply, (ModelReply, ModelFailure)):
        raise provider_error(
            provider,
            f"returned a {type(reply).__name__}, not a ModelReply or a ModelFailure.",
        )
    try:
        reply = reply.verified()
        _check_counts(reply)
    except InvalidValueError as error:
        raise provider_error(
            provider,
            f"returned a {type(reply).__name__} that cannot be recorded: {error.message}",
            "Fix it and resume the run. Its conformance suite finds such replies.",
        ) from error
    return reply


def _check_counts(reply: ModelReply | ModelFailure) -> None:
    """Check that a reply's numbers can be recorded; what they may truly be is `counted`'s."""
    counts = {"attempts": reply.attempts}
    if isinstance(reply, ModelReply):
        counts = {**counts, **structs.asdict(reply.usage)}
    for name, count in counts.items():
        if abs(count) > MAX_SAFE_INTEGER:
            where = "/attempts" if name == "attempts" else f"/usage/{name}"
            reason = "must be a number between -(2**53 - 1) and 2**53 - 1"
            raise InvalidValueError(type(reply).__name__, where, reason)


def _counted(
    reply: ModelReply | ModelFailure, prepared: PreparedRequest, size: RequestSize, attached: int
) -> tuple[ModelReply | ModelFailure, Usage | None]:
    """The reply with the usage that counts, and the provider's report if that is another."""
    if isinstance(reply, ModelFailure):
        return reply, None
    usage = counted(
        reply.usage,
        estimate=size.tokens,
        sent=lambda: canonical(prepared.body),
        blocks=reply.blocks,
        longest=size.reply,
        attached=attached,
    )
    if usage == reply.usage:
        return reply, None
    return reply.replace(usage=usage), reply.usage


def _attached_tokens(state: RunState) -> int:
    """Estimate the tokens of a conversation's attachments."""
    if not state.attached.number:
        return 0
    return sum([message.attached_tokens for message in state.history])


def _ignore(delta: Delta) -> None:
    """A summary is not shown while it forms."""

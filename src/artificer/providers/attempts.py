"""Retries and timeouts of all providers. The SDKs' own retries are off.

Retried: a dropped connection, an idle or overlong request, 408, 409, 425, 429, 5xx and 529, and a
truncated or malformed stream. Not retried: other 4xx errors and a context that is too long.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Protocol, Self

from artificer.providers.failures import classify, error_in, failure, keyless, keyless_failure
from artificer.values.model import Delta, FailureCode, ModelFailure, ModelReply, RetryDelta

RETRYABLE: frozenset[FailureCode] = frozenset(
    {
        "malformed_response",
        "overloaded",
        "rate_limited",
        "stream_truncated",
        "timeout",
        "unavailable",
    }
)


@dataclass(frozen=True)
class AttemptLimits:
    """Limits of one ``generate``; all times are in seconds.

    ``request`` limits each attempt: writing the largest drawing may take half an hour. ``idle``
    limits the wait for each event of the stream, ``drain`` the wait for the end of a stream whose
    reply is complete. Delays double from ``first_delay`` to ``max_delay``; the upper half of a
    delay is random. A Retry-After up to ``retry_after_cap`` is waited out; a longer one ends the
    attempts, because an earlier request would be refused.
    """

    attempts: int = 4
    request: float = 1800.0
    idle: float = 300.0
    drain: float = 2.0
    first_delay: float = 0.5
    max_delay: float = 8.0
    retry_after_cap: float = 120.0
    jitter: Callable[[], float] = random.random


class Assembler(Protocol):
    """Builds one reply from the events of one stream. None of its methods raises."""

    @property
    def complete(self) -> bool:
        """Whether the provider has sent the reason for the end of the reply."""

    @property
    def failed(self) -> bool:
        """Whether the stream has a fault. Nothing that follows changes it."""

    def feed(self, event: object) -> list[Delta]:
        """Process one parsed event and return the pieces it added."""

    def finish(self) -> ModelReply | ModelFailure:
        """Return the reply, or the failure."""


OpenStream = Callable[[], Awaitable[AbstractAsyncContextManager[AsyncIterator[object]]]]
"""Sends the request and returns its stream of parsed events, which closes the connection."""


class Broken(Exception):
    """Raised for a request that ended in an error.

    ``retry_after`` is the delay that the server requested, in seconds. ``unanswered`` means that
    the connection died before the first byte of the response.
    """

    def __init__(
        self,
        outcome: ModelFailure,
        *,
        retry_after: float | None = None,
        unanswered: bool = False,
    ) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome
        self.retry_after = retry_after
        self.unanswered = unanswered


class EventGap:
    """A limit of the time between two events, whose end is a TimeoutError.

    One timer serves all events: setting one for each takes longer than reading the event.
    """

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = asyncio.timeout(None)
        self._seconds = seconds

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        self._began = self._loop.time()
        self._timer = self._loop.call_later(self._seconds, self._look)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        await self._limit.__aexit__(kind, error, trace)

    def end(self, seconds: float) -> None:
        """Note an event. The next gap may last so many seconds."""
        self._began = self._loop.time()
        if seconds != self._seconds:
            self._seconds = seconds
            self._timer.cancel()
            self._look()

    def _look(self) -> None:
        until = self._began + self._seconds
        if self._loop.time() < until:
            self._timer = self._loop.call_at(until, self._look)
        else:
            self._limit.reschedule(until)


async def generate_with_attempts(
    open_stream: OpenStream,
    new_assembler: Callable[[], Assembler],
    on_delta: Callable[[Delta], None],
    limits: AttemptLimits,
    *,
    secret: str = "",
) -> ModelReply | ModelFailure:
    """Send the request until there is a reply, a permanent failure, or no attempt left.

    Each attempt starts the reply again, so ``on_delta`` may get the beginning of a text twice; a
    RetryDelta is between them, unless the next attempt follows at once.
    ``secret`` is kept out of every message. Cancelling closes the connection.
    """
    attempt = 1
    while True:
        broken = None
        try:
            outcome = await _attempt(open_stream, new_assembler(), on_delta, limits, secret)
        except Broken as error:
            outcome, broken = error.outcome, error
        delay = _delay(outcome, attempt, broken, limits)
        if delay is None:
            outcome = outcome.replace(attempts=attempt)
            if isinstance(outcome, ModelFailure):
                return keyless_failure(outcome, secret)
            return keyless(outcome, secret)
        attempt += 1
        if delay and isinstance(outcome, ModelFailure):
            on_delta(_retry(outcome.code, delay, attempt, limits))
        await asyncio.sleep(delay)


def _retry(code: FailureCode, delay: float, attempt: int, limits: AttemptLimits) -> RetryDelta:
    until = round((time.time() + delay) * 1000)
    return RetryDelta(code=code, until=until, attempt=attempt, attempts=limits.attempts)


def _delay(
    outcome: ModelReply | ModelFailure, attempt: int, broken: Broken | None, limits: AttemptLimits
) -> float | None:
    """Return the delay before the next attempt, or None if there is none."""
    if isinstance(outcome, ModelReply) or outcome.code not in RETRYABLE:
        return None
    retry_after = broken.retry_after if broken else None
    if attempt >= limits.attempts or (retry_after or 0.0) > limits.retry_after_cap:
        return None
    if broken and broken.unanswered and attempt == 1:
        # A pooled connection that the server closed after its last stream, as llama.cpp does,
        # is not a fault of this request.
        return 0.0
    backoff = min(limits.max_delay, limits.first_delay * 2.0 ** (attempt - 1))
    backoff *= 0.5 + limits.jitter() / 2
    return backoff if retry_after is None else retry_after + backoff / 10


async def _attempt(
    open_stream: OpenStream,
    assembler: Assembler,
    on_delta: Callable[[Delta], None],
    limits: AttemptLimits,
    secret: str,
) -> ModelReply | ModelFailure:
    """Send one request and read its stream."""
    try:
        async with (
            asyncio.timeout(limits.request),
            aclosing(_events(open_stream, assembler, limits, secret)) as events,
        ):
            async for event in events:
                for delta in assembler.feed(event):
                    on_delta(delta)
    except TimeoutError:
        if not (assembler.complete or assembler.failed):
            return failure("timeout", f"The request took longer than {limits.request:g} s.")
    return assembler.finish()


async def _events(
    open_stream: OpenStream, assembler: Assembler, limits: AttemptLimits, secret: str
) -> AsyncGenerator[object, None]:
    """Yield the stream's events. Every exception of an SDK becomes Broken.

    Once the reply is complete, what happens to its connection no longer matters: llama.cpp
    closes it after every stream. Nothing is read after a fault, which says more than how the
    connection ends.
    """
    started = False
    try:
        async with asyncio.timeout(limits.idle):
            opened = await open_stream()
        async with opened as stream, EventGap(limits.idle) as gap:
            async for event in stream:
                started = True
                yield event
                if assembler.failed:
                    return
                gap.end(limits.drain if assembler.complete else limits.idle)
    except Exception as error:  # of any SDK or transport: see broken_by
        if not (assembler.complete or assembler.failed):
            raise broken_by(error, started=started, secret=secret) from error


def broken_by(error: Exception, *, started: bool, secret: str = "") -> Broken:
    """Return the failure for an exception of an SDK or its transport.

    Kinds are distinguished by attributes, not by class: importing an SDK for its classes would
    undo the lazy imports, and httpx2's errors pass through the SDKs unwrapped.
    """
    kind = type(error).__name__
    words = f"{kind}: {error}"
    if getattr(error, "status_code", None) or getattr(error, "body", None):
        status, message = _status_and_message(error)
        headers = getattr(getattr(error, "response", None), "headers", {})
        body = getattr(error, "body", None)
        outcome = failure(classify(status, message), message, secret=secret, body=body)
        return Broken(outcome, retry_after=_retry_after(headers))
    if isinstance(error, TimeoutError) or "Timeout" in kind:
        return Broken(failure("timeout", f"The server said nothing in time ({words})."))
    if isinstance(error, ValueError):
        return Broken(failure("malformed_response", f"The stream is malformed: {words}"))
    if isinstance(error, (TypeError, AttributeError)):
        return Broken(failure("bad_request", f"The SDK does not take this request: {words}"))
    code: FailureCode = "stream_truncated" if started else "unavailable"
    message = f"The connection{_server_of(error)} failed: {_cause_of(error)}"
    return Broken(failure(code, message, secret=secret), unanswered=not started)


def _server_of(error: Exception) -> str:
    """The server of an SDK's request, without a user, a password or a path."""
    with suppress(AttributeError, RuntimeError):  # httpx2 raises where there is no request
        url = error.request.url  # type: ignore[attr-defined]
        return f" to {url.scheme}://{url.netloc.decode()}"
    return ""


def _cause_of(error: BaseException) -> str:
    """The innermost error of the system, since the SDK's own words are "Connection error."."""
    found, cause = error, error.__cause__ or error.__context__
    while cause is not None:
        found = cause if isinstance(cause, OSError) else found
        cause = cause.__cause__ or cause.__context__
    return f"{type(found).__name__}: {found}"


def _status_and_message(error: Exception) -> tuple[int | None, str]:
    """Return the status and message of an error that the server sent.

    A status below 300 belongs to an error event inside a stream that began normally.
    """
    inside, message = error_in({"error": getattr(error, "body", None)}) or (None, str(error))
    status = getattr(error, "status_code", None)
    if type(status) is int and 300 <= status < 400:
        return status, f"The server redirects (status {status}), which is not followed."
    return (status if type(status) is int and status >= 400 else inside), message


def _retry_after(headers: object) -> float | None:
    """Return the delay that a server asks for, in seconds.

    That is Retry-After, seconds or an HTTP date (RFC 9110, 10.2.3). Some send milliseconds too,
    where that has been rounded up.
    """
    get = getattr(headers, "get", None)
    if get is None:
        return None
    if (exact := _number(get("retry-after-ms"))) is not None:
        return exact / 1000
    value = get("retry-after")
    seconds = _number(value)
    if seconds is not None or not isinstance(value, str):
        return seconds
    with suppress(ValueError, OverflowError):
        when = parsedate_to_datetime(value)
        left = (when.astimezone(UTC) - datetime.now(UTC)).total_seconds()
        return left if left >= 0 else None
    return None


def _number(value: object) -> float | None:
    """Return a finite number of a header that is not negative."""
    with suppress(ValueError):
        found = float(value) if isinstance(value, str) else -1.0
        return found if 0 <= found < float("inf") else None
    return None

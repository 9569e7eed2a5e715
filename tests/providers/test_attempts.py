"""Retries, timeouts and the naming of what breaks, without a server."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_kit import ask

from artificer.providers.anthropic import Anthropic
from artificer.providers.attempts import (
    AttemptLimits,
    OpenStream,
    broken_by,
    generate_with_attempts,
)
from artificer.providers.chat_wire import ChatDialect, ChatStream
from artificer.providers.endpoint import Endpoint
from artificer.providers.failures import classify, failure
from artificer.providers.messages_wire import MessagesDialect, MessagesStream
from artificer.providers.openai_responses import OpenAIResponses
from artificer.providers.responses_wire import ResponsesDialect, ResponsesStream
from artificer.values.model import Delta, ModelFailure, ModelReply, RetryDelta

QUICK = AttemptLimits(first_delay=0.001, max_delay=0.002, idle=0.2, drain=0.05, request=5)
DONE = {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}


class _StatusError(Exception):
    """Looks like an SDK's error for a status."""

    def __init__(self, status: int, message: str = "no", retry_after: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.response = self
        self.body: object = None
        self.headers = {} if retry_after is None else {"retry-after": retry_after}


def streams(*outcomes: object) -> OpenStream:
    """Each request plays the next outcome: an error to raise, or events (which may be errors)."""
    remaining: Iterator[object] = iter(outcomes)

    async def events(items: list[object]) -> AsyncIterator[object]:
        for item in items:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, float):
                await asyncio.sleep(item)
            else:
                yield item

    @asynccontextmanager
    async def opened(items: list[object]) -> AsyncIterator[AsyncIterator[object]]:
        yield events(items)

    async def open_stream() -> object:
        outcome = next(remaining)
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, list)
        return opened(outcome)

    return open_stream  # type: ignore[return-value]


async def run(
    *outcomes: object,
    limits: AttemptLimits = QUICK,
    on_delta: Callable[[Delta], None] = lambda _: None,
) -> ModelReply | ModelFailure:
    return await generate_with_attempts(
        streams(*outcomes), lambda: ChatStream(ChatDialect("x"), ()), on_delta, limits
    )


@pytest.mark.req("provider-retries")
@pytest.mark.parametrize(
    "outcome",
    [
        ConnectionResetError("gone"),
        _StatusError(500),
        _StatusError(529),
        _StatusError(429, retry_after="0"),
        [json.JSONDecodeError("bad", "{", 0)],
        [{"choices": []}],
        [{"error": {"message": "Overloaded", "code": 503}}],
        [1.0],
    ],
    ids=lambda outcome: str(outcome)[:30],
)
async def test_what_may_pass_is_asked_again(outcome: object) -> None:
    answer = await run(outcome, [DONE])
    assert isinstance(answer, ModelReply)
    assert answer.attempts == 2


SAID = {"error": {"message": "context_length_exceeded: The input is too long.", "code": 400}}
PIECE = {"choices": [{"delta": {"content": "Hi"}}]}


@pytest.mark.req("provider-stream-fault")
@pytest.mark.parametrize(
    "end",
    [[ConnectionResetError("gone")], [1.0], [0.1, PIECE] * 50],
    ids=["drops", "falls silent", "goes on"],
)
async def test_a_fault_that_was_said_counts_however_the_stream_ends(end: list[object]) -> None:
    limits = replace(QUICK, request=0.5)
    answer = await run([SAID, *end], [DONE], limits=limits)
    assert isinstance(answer, ModelFailure)
    assert (answer.code, answer.attempts) == ("context_overflow", 1)


@pytest.mark.req("provider-stream-fault")
async def test_a_connection_that_cannot_be_closed_after_a_fault_changes_nothing() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[AsyncIterator[object]]:
        async def events() -> AsyncIterator[object]:
            yield SAID

        yield events()
        raise ConnectionResetError("gone")

    async def open_stream() -> object:
        return opened()

    answer = await generate_with_attempts(
        open_stream,  # type: ignore[arg-type]
        lambda: ChatStream(ChatDialect("x"), ()),
        lambda _: None,
        QUICK,
    )
    assert isinstance(answer, ModelFailure)
    assert (answer.code, answer.attempts) == ("context_overflow", 1)


@pytest.mark.req("provider-delays")
async def test_who_watches_learns_when_the_model_is_asked_again() -> None:
    said = list[Delta]()
    before = time.time() * 1000
    refused = _StatusError(429, retry_after="0.01")
    answer = await run(refused, [DONE], on_delta=said.append)
    assert isinstance(answer, ModelReply)
    [retry] = [delta for delta in said if isinstance(delta, RetryDelta)]
    assert (retry.code, retry.attempt, retry.attempts) == ("rate_limited", 2, QUICK.attempts)
    assert before + 9 <= retry.until <= time.time() * 1000 + 1_000


@pytest.mark.req("provider-retries")
async def test_attempts_are_bounded() -> None:
    failed = await run(*[ConnectionResetError("gone")] * 9)
    assert isinstance(failed, ModelFailure)
    assert (failed.code, failed.attempts) == ("unavailable", QUICK.attempts)


@pytest.mark.req("provider-retries")
async def test_a_complete_reply_survives_the_death_of_its_connection() -> None:
    for after in (ConnectionResetError("gone"), 9.0):
        answer = await run([DONE, after])
        assert isinstance(answer, ModelReply)
        assert answer.attempts == 1


@pytest.mark.req("provider-retries")
async def test_an_endless_stream_meets_the_request_timeout() -> None:
    trickle = [{"choices": []}, 0.05] * 1000
    limits = AttemptLimits(attempts=1, request=0.3, idle=0.2)
    failed = await run(trickle, limits=limits)
    assert isinstance(failed, ModelFailure)
    assert failed.code == "timeout"


@pytest.mark.req("provider-retries")
@pytest.mark.parametrize("header", ["3600", "date"])
async def test_a_retry_after_beyond_the_cap_ends_the_attempts(header: str) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    failed = await run(_StatusError(429, retry_after=later if header == "date" else header), [DONE])
    assert isinstance(failed, ModelFailure)
    assert (failed.code, failed.attempts) == ("rate_limited", 1)


@pytest.mark.req("provider-retries")
@pytest.mark.parametrize(
    "date", ["Fri, 31 Dec 9999 23:59:59 -2300", f"Fri, 31 Dec {10**30} 23:59:59 GMT", "soon"]
)
async def test_a_retry_after_that_names_no_time_counts_for_nothing(date: str) -> None:
    """Whatever a server sends, its refusal is a failure, and the request is sent again."""
    assert (await run(_StatusError(429, retry_after=date), [DONE])).attempts == 2


@pytest.mark.req("provider-retries")
@pytest.mark.parametrize(
    ("exact", "rounded", "attempts"),
    [
        ("9.5", "3600", 2),
        ("3600000", "0", 1),
        *((wrong, "3600", 1) for wrong in ("soon", "-1", "inf", "nan", "")),
    ],
)
async def test_milliseconds_are_more_exact(exact: str, rounded: str, attempts: int) -> None:
    """A server that has rounded them up to seconds is not waited for so long."""
    refused = _StatusError(429, retry_after=rounded)
    refused.headers["retry-after-ms"] = exact
    assert (await run(refused, [DONE])).attempts == attempts


@pytest.mark.req("provider-classified-failures")
@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "the request exceeds: exceed_context_size_error", "context_overflow"),
        (400, "context_length_exceeded", "context_overflow"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
        (413, "request_too_large", "context_overflow"),
        (400, "tools.0: bad schema", "bad_request"),
        (422, "no", "bad_request"),
        (401, "no", "auth"),
        (403, "no", "auth"),
        (404, "no model of that name", "not_found"),
        (408, "no", "timeout"),
        (429, "no", "rate_limited"),
        (500, "no", "unavailable"),
        (500, "output that does not match the expected peg-native format", "malformed_response"),
        (529, "no", "overloaded"),
        (None, "overloaded_error: Overloaded", "overloaded"),
        (None, "rate_limit_exceeded", "rate_limited"),
        (None, "invalid_request_error: no", "bad_request"),
        (None, "something else", "unavailable"),
    ],
)
def test_failures_are_named_by_status_and_message(
    status: int | None, message: str, code: str
) -> None:
    assert classify(status, message) == code


@pytest.mark.req("provider-classified-failures", "context-overflow")
@pytest.mark.parametrize(
    "message",
    [
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        "This model's maximum context length is 8192 tokens. However, you requested 10346 tokens.",
        "Your input exceeds the context window of this model",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        "prompt token count of 80000 exceeds the limit of 64000",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Please reduce the length of the messages or completion.",
        "The input (70000 tokens) is longer than the model's context length (65536 tokens).",
        "The decoder prompt (length 1000) is longer than the maximum model length of 512.",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        "Your request exceeded model token limit: 262144",
        "tokens to keep from the initial prompt is greater than the context length",
        "`inputs` tokens + `max_new_tokens` must be <= 4097",
        "Input is too long for requested model.",
        "request (9041 tokens) exceeds the available context size (8192 tokens)",
    ],
)
def test_a_context_that_is_too_long_is_known_in_everyones_words(message: str) -> None:
    """Messages of Anthropic, OpenAI, Gemini, Copilot, xAI, Groq, SGLang, vLLM, Kimi and others."""
    assert classify(400, message) == "context_overflow"


@pytest.mark.req("provider-classified-failures")
@pytest.mark.parametrize(
    "message",
    [
        "This request would exceed your rate limit of 40,000 input tokens per minute.",
        "Invalid 'tools[0].name': string too long.",
        "max_tokens: 70000 > 64000, which is the maximum allowed number of output tokens",
    ],
)
def test_other_limits_are_not_taken_for_it(message: str) -> None:
    assert classify(400, message) != "context_overflow"
    assert classify(None, message) != "context_overflow"


@pytest.mark.req("provider-classified-failures", "reply-limits")
@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 50000. This model supports at most 16384 completion tokens,"
        " whereas you provided 50000.",
        "max_tokens: 70000 > 64000, which is the maximum allowed number of output tokens for m",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        "Unable to submit request because it has a maxOutputTokens value of 100000 but the"
        " supported range is from 1 (inclusive) to 65537 (exclusive).",
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is"
        " less than the `context_window` for this model",
    ],
)
def test_a_reply_that_the_model_cannot_write_is_known_in_everyones_words(message: str) -> None:
    """Messages of OpenAI, Anthropic, DeepSeek, Gemini and Groq."""
    assert classify(400, message) == "max_tokens"


@pytest.mark.req("provider-classified-failures", "context-overflow")
def test_a_reply_that_only_the_conversation_makes_too_long_is_not() -> None:
    vllm = (
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context"
        " length is 8192 tokens and your request has 6000 input tokens"
    )
    assert classify(400, vllm) == "context_overflow"


@pytest.mark.req("provider-secrets")
def test_a_failure_holds_no_key() -> None:
    key = "very-private-key-of-mine"
    said = failure("auth", f"Key {key} refused; Bearer {key}; sk-ant-api03-{'x' * 30}", secret=key)
    assert key not in said.message
    assert "xxxx" not in said.message
    assert "gpt-4o-2024-08-06" in failure("not_found", "no model gpt-4o-2024-08-06").message
    wrapped = broken_by(_StatusError(401, f"bad key {key}"), started=False, secret=key)
    assert key not in wrapped.outcome.message


@pytest.mark.req("provider-raw-failure")
async def test_what_the_server_answered_is_kept_whole_without_the_key() -> None:
    key = "very-private-key-of-mine"
    refused = _StatusError(400, "no")
    refused.body = {"message": f"Key {key}: {'long ' * 200}", "type": "invalid_request_error"}
    wrapped = broken_by(refused, started=False, secret=key).outcome
    assert wrapped.raw is not None and json.loads(wrapped.raw)["message"].count("long") == 200
    streamed = await generate_with_attempts(
        streams([{"error": {"message": f"invalid_request: {key}", "param": "tools.3"}}]),
        lambda: ChatStream(ChatDialect("x"), ()),
        lambda _: None,
        QUICK,
        secret=key,
    )
    assert isinstance(streamed, ModelFailure) and streamed.raw is not None
    assert json.loads(streamed.raw)["error"]["param"] == "tools.3"
    for failed in (wrapped, streamed):
        assert key not in failed.message and key.encode() not in (failed.raw or b"")
    silent = broken_by(ConnectionResetError("gone"), started=False).outcome
    assert silent.raw is None


@pytest.mark.req("provider-classified-failures")
@pytest.mark.parametrize(
    ("make", "variable"),
    [(Anthropic, "NO_SUCH_KEY_A"), (OpenAIResponses, "NO_SUCH_KEY_B")],
)
async def test_no_key_is_a_failure_that_says_which(make: type[Anthropic], variable: str) -> None:
    failed = await ask(make(key_variable=variable))
    assert isinstance(failed, ModelFailure)
    assert failed.code == "auth"
    assert variable in failed.message


KEYS = """type delta message content content_block index choices tool_calls function arguments
name id item item_id response output status error usage finish_reason stop_reason text"""
KINDS = """message_start content_block_start content_block_delta message_delta response.completed
response.failed response.output_item.added response.output_item.done error
response.function_call_arguments.delta"""
keys = st.sampled_from(KEYS.split())
kinds = st.sampled_from(KINDS.split())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)
events = st.dictionaries(keys, json_values, max_size=5).flatmap(
    lambda event: kinds.map(lambda kind: {**event, "type": kind})
)


@pytest.mark.req("provider-hostile-stream")
@given(st.lists(events | json_values, max_size=6))
def test_no_event_ever_raises(hostile: list[object]) -> None:
    for stream in (
        ChatStream(ChatDialect("x"), ()),
        MessagesStream(MessagesDialect("x"), ()),
        ResponsesStream(ResponsesDialect("x"), (), 100),
    ):
        for event in hostile:
            stream.feed(event)
        assert isinstance(stream.finish(), ModelReply | ModelFailure)


@pytest.mark.req("provider-key-stays-home")
async def test_a_vendors_key_does_not_go_to_other_servers() -> None:
    name = "ARTIFICER_TEST_VENDOR"
    os.environ[f"{name}_API_KEY"] = "vendor-key"
    os.environ[f"{name}_BASE_URL"] = "http://mine"
    try:
        assert await Endpoint(name).key() == "vendor-key"
        assert await Endpoint(name, "http://mine").key() == "vendor-key"
        assert await Endpoint(name, "http://other").key() == "none"
        named = Endpoint(name, "http://other", key_variable=f"{name}_API_KEY")
        assert await named.key() == "vendor-key"
        assert await Endpoint(name, "http://other", api_key="own").key() == "own"
        assert "own" not in repr(Endpoint(name, api_key="own"))
    finally:
        del os.environ[f"{name}_API_KEY"], os.environ[f"{name}_BASE_URL"]

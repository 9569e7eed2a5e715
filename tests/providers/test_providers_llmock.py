"""The three adapters, through the official SDKs, against llmock: its faults and its verdict.

llmock is somebody else's server, and it grades the client: retries that ignore Retry-After, a
truncated stream taken for a reply, no back-off.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

import pytest
from llmock.chaos import StreamChaos
from llmock.scenarios import Behavior, Fail, Reply, StreamFault, ToolCall, ToolFault
from llmock.testing import LLMockServer
from llmock.verdict import judge
from provider_kit import KEY, PROVIDERS, QUICK, ask, reply, with_results
from strict_rules import Protocol

from artificer.ports import Provider
from artificer.providers.attempts import AttemptLimits
from artificer.values.blocks import Message, user
from artificer.values.model import ModelFailure

Provide = Callable[..., Provider]

pytestmark = pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])


@pytest.fixture(scope="module")
def running() -> Iterator[LLMockServer]:
    with LLMockServer() as server:
        # Paced like a model, so that the server can see a client that stops reading.
        server.state.stream_chaos = StreamChaos(chunk_delay_ms=10)
        yield server


@pytest.fixture
def server(running: LLMockServer) -> Iterator[LLMockServer]:
    """The server, as new; after the test its verdict must be clean, warnings included."""
    running.state.journal.clear()
    running.state.scenarios.clear()
    yield running
    judge(running.state.journal.records(wait=2.0)).assert_ok(strict=True)


@pytest.fixture
async def provide(running: LLMockServer, protocol: Protocol) -> AsyncIterator[Provide]:
    """Makes the protocol's provider, after queueing faults; closes it after the test."""
    made: list[Provider] = []

    def make(*faults: Behavior, limits: AttemptLimits = QUICK) -> Provider:
        running.state.scenarios.add(*faults)
        path = running.base_url("anthropic" if protocol == "messages" else "openai")
        made.append(PROVIDERS[protocol](base_url=path, api_key=KEY, limits=limits))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


@pytest.mark.req("provider-loop")
async def test_a_loop_without_configuration(server: LLMockServer, provide: Provide) -> None:
    provider = provide()
    messages = [user("Add one and two with math_add.")]
    first = reply(await ask(provider, messages))
    assert first.stop == "tool_use"
    last = reply(await ask(provider, with_results(messages, first, "3")))
    assert last.stop == "end_turn"
    assert Message(role="assistant", blocks=last.blocks).text


@pytest.mark.req("provider-retries")
@pytest.mark.parametrize(
    "fault",
    [
        Fail(429, retry_after=0.3),
        Fail(529, retry_after=0.1),
        Fail(500, times=2, retry_after=0.1),
        Fail(408),
        StreamFault("truncate", after_chunks=2),
        StreamFault("disconnect", after_chunks=2),
        StreamFault("malformed", after_chunks=3),
    ],
    ids=lambda fault: f"{getattr(fault, 'status', '')}{getattr(fault, 'kind', '')}",
)
async def test_a_passing_fault_is_survived(
    server: LLMockServer, provide: Provide, fault: Behavior
) -> None:
    provider = provide(fault)
    answer = reply(await ask(provider))
    assert answer.attempts > 1
    assert answer.stop == "tool_use"


@pytest.mark.req("provider-retries")
async def test_a_stalled_stream_is_given_up_and_asked_again(
    server: LLMockServer, provide: Provide
) -> None:
    stall = StreamFault("stall", after_chunks=2, stall_seconds=30)
    limits = AttemptLimits(idle=0.5, drain=0.5, first_delay=0.05, max_delay=0.2)
    provider = provide(stall, limits=limits)
    assert reply(await ask(provider)).attempts == 2


@pytest.mark.req("provider-classified-failures")
@pytest.mark.parametrize(
    ("fault", "code", "attempts"),
    [
        (Fail(400), "bad_request", 1),
        (Fail(401), "auth", 1),
        (Fail(403), "auth", 1),
        (Fail(404), "not_found", 1),
        (
            Fail(400, code="context_length_exceeded", message="maximum context length exceeded"),
            "context_overflow",
            1,
        ),
        (Fail(429, times=None, retry_after=0.1), "rate_limited", 2),
        (Fail(429, times=None, retry_after=500), "rate_limited", 1),
        (Fail(529, times=None, retry_after=0.1), "overloaded", 2),
        (Fail(502, times=None, retry_after=0.1), "unavailable", 2),
    ],
    ids=lambda value: f"{value.status}" if isinstance(value, Fail) else str(value),
)
async def test_a_lasting_fault_is_named(
    running: LLMockServer, provide: Provide, fault: Fail, code: str, attempts: int
) -> None:
    running.state.scenarios.clear()
    provider = provide(fault, limits=replace(QUICK, attempts=2))
    failed = await ask(provider)
    running.state.scenarios.clear()
    assert isinstance(failed, ModelFailure)
    assert (failed.code, failed.attempts) == (code, attempts)
    assert KEY not in failed.message


@pytest.mark.req("provider-raw-arguments")
async def test_malformed_arguments_reach_us_as_they_are(
    server: LLMockServer, provide: Provide
) -> None:
    provider = provide(ToolFault("malformed_arguments"))
    messages = [user("Add one and two with math_add.")]
    first = reply(await ask(provider, messages))
    (call,) = Message(role="assistant", blocks=first.blocks).calls
    assert call.arguments.startswith("{")
    assert not call.arguments.endswith("}")
    assert reply(await ask(provider, with_results(messages, first, "not JSON"))).blocks


@pytest.mark.req("provider-names")
async def test_an_unknown_tool_reaches_us_by_its_name(
    server: LLMockServer, provide: Provide
) -> None:
    provider = provide(ToolFault("unknown_tool"))
    first = reply(await ask(provider, [user("Add one and two with math_add.")]))
    (call,) = Message(role="assistant", blocks=first.blocks).calls
    assert call.name not in ("math.add", "math_add", "find")


@pytest.mark.req("provider-call-ids")
async def test_parallel_calls_stay_apart(server: LLMockServer, provide: Provide) -> None:
    both = tuple(ToolCall("math_add", {"a": n, "b": n}) for n in (1, 2))
    provider = provide(Reply(text=None, tool_calls=both))
    messages = [user("Add twice.")]
    first = reply(await ask(provider, messages))
    calls = Message(role="assistant", blocks=first.blocks).calls
    assert [c.name for c in calls] == ["math.add"] * 2
    assert len({c.id for c in calls}) == 2
    assert reply(await ask(provider, with_results(messages, first, "3"))).stop == "end_turn"


@pytest.mark.req("provider-loops-of-events")
def test_a_provider_outlives_its_event_loop(
    server: LLMockServer, protocol: Protocol, caplog: pytest.LogCaptureFixture
) -> None:
    path = server.base_url("anthropic" if protocol == "messages" else "openai")
    provider = PROVIDERS[protocol](base_url=path, api_key=KEY, limits=QUICK)

    async def ask_and_close() -> str:
        stop = reply(await ask(provider)).stop
        await provider.aclose()
        return stop

    gc.disable()  # all that this makes stays young: looking at everything else takes seconds
    try:
        assert reply(asyncio.run(ask(provider))).stop == "tool_use"
        assert asyncio.run(ask_and_close()) == "tool_use"
        gc.collect(0)  # an open connection of the dead loop would be an error here
    finally:
        gc.enable()
    # Nor has the second loop tried to close it, in vain.
    assert [record for record in caplog.records if record.name == "asyncio"] == []

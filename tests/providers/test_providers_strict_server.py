"""The three adapters, through the official SDKs, against the strict double."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from program_server import free_ports
from provider_kit import KEY, PROVIDERS, QUICK, ask, reply, with_results
from strict_rules import Protocol
from strict_server import Calls, Hangs, Refuses, Says, StrictServer, Turn

from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
from artificer.ports import Provider
from artificer.providers.attempts import AttemptLimits
from artificer.providers.chat_wire import ChatDialect
from artificer.providers.messages_wire import MessagesDialect
from artificer.providers.responses_wire import ResponsesDialect
from artificer.values.blocks import Message, TextBlock, ToolResultBlock, ToolUseBlock, user
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    ModelFailure,
    TextDelta,
    ToolChoice,
    Usage,
)

pytestmark = pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])

Pair = tuple[StrictServer, Provider]

THREE = Says("Three.")
FOUND = ("find", '{"pattern": "*"}')
SUM = ("math_add", '{"a": 1, "b": 2}')


@asynccontextmanager
async def playing(protocol: Protocol, *script: Turn) -> AsyncIterator[Pair]:
    """The double with a script, and a provider that asks it."""
    async with StrictServer(*script) as server:
        provider = PROVIDERS[protocol](base_url=server.url, api_key=KEY, limits=QUICK)
        try:
            yield server, provider
        finally:
            await provider.aclose()


@pytest.mark.req("provider-loop")
async def test_a_tool_loop_runs_to_its_end(protocol: Protocol) -> None:
    async with playing(protocol, Calls(SUM, SUM, text="Adding."), THREE) as (server, provider):
        messages = [user("What is 1 + 2?")]
        first = reply(await ask(provider, messages))
        said = Message(role="assistant", blocks=first.blocks)
        assert first.stop == "tool_use"
        assert said.text == "Adding."
        assert [(c.name, c.arguments) for c in said.calls] == [("math.add", SUM[1])] * 2
        assert first.usage == Usage(input_tokens=10, output_tokens=5)
        second = reply(await ask(provider, with_results(messages, first, "3")))
        assert (second.stop, second.blocks) == ("end_turn", (TextBlock(text="Three."),))
        assert second.raw is not None
        assert b"Three." in second.raw
        assert server.refused == []


@pytest.mark.req("provider-deltas")
async def test_text_and_arguments_are_seen_as_they_form(protocol: Protocol) -> None:
    async with playing(protocol, Calls(SUM, FOUND, text="Adding.")) as (_, provider):
        deltas: list[Delta] = []
        await ask(provider, on_delta=deltas.append)
    text = "".join(d.text for d in deltas if isinstance(d, TextDelta))
    pieces = [d for d in deltas if isinstance(d, ArgumentsDelta)]
    assert text == "Adding."
    assert "".join(d.text for d in pieces if d.index == 0) == SUM[1]
    assert "".join(d.text for d in pieces if d.index == 1) == '{"pattern": "*"}'
    assert {(d.index, d.name) for d in pieces} == {(0, "math.add"), (1, "find")}
    assert len(pieces) > 2


@pytest.mark.req("provider-stop-reasons")
@pytest.mark.parametrize(
    ("turn", "stop"),
    [
        (Says("All"), "end_turn"),
        (Says("Half", cut=True), "max_tokens"),
        (Calls(SUM), "tool_use"),
        (Calls(("math_add", '{"a": 1'), cut=True), "max_tokens"),
        (Refuses("I will not."), "refusal"),
    ],
)
async def test_why_a_reply_ended(protocol: Protocol, turn: Turn, stop: str) -> None:
    async with playing(protocol, turn) as (_, provider):
        answer = reply(await ask(provider))
    assert answer.stop == stop
    assert answer.blocks


@pytest.mark.req("provider-raw-arguments")
async def test_broken_arguments_keep_their_text_and_can_be_answered(protocol: Protocol) -> None:
    broken = '{"a": 1, "b":'
    async with playing(protocol, Calls(("math_add", broken)), Says("Sorry.")) as (server, provider):
        messages = [user("What is 1 + 2?")]
        first = reply(await ask(provider, messages))
        (call,) = Message(role="assistant", blocks=first.blocks).calls
        assert call.arguments == broken
        assert reply(await ask(provider, with_results(messages, first, "not JSON"))).blocks
        assert "unparsable_arguments" in json.dumps(server.seen[-1].body)


@pytest.mark.req("provider-tool-choice")
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (ToolChoice(), {"chat": "auto", "messages": {"type": "auto"}, "responses": "auto"}),
        (
            ToolChoice(mode="none"),
            {"chat": "none", "messages": {"type": "none"}, "responses": "none"},
        ),
        (
            ToolChoice(mode="required"),
            {"chat": "required", "messages": {"type": "any"}, "responses": "required"},
        ),
        (
            ToolChoice(mode="tool", name="math.add"),
            {
                "chat": {"type": "function", "function": {"name": "math_add"}},
                "messages": {"type": "tool", "name": "math_add"},
                "responses": {"type": "function", "name": "math_add"},
            },
        ),
    ],
    ids=lambda value: value.mode if isinstance(value, ToolChoice) else "",
)
async def test_tool_choice(
    protocol: Protocol, choice: ToolChoice, expected: dict[str, object]
) -> None:
    async with playing(protocol, Says("Yes.")) as (server, provider):
        reply(await ask(provider, tool_choice=choice, temperature=0.5))
        assert server.seen[0].body["tool_choice"] == expected[protocol]
        assert server.seen[0].body["temperature"] == 0.5


@pytest.mark.req("provider-strict-tools")
async def test_strict_tools_are_accepted_and_their_nulls_read_back(protocol: Protocol) -> None:
    dialects = {
        "chat": ChatDialect("x", strict=OPENAI_STRICT),
        "messages": MessagesDialect("x", strict=ANTHROPIC_STRICT),
        "responses": ResponsesDialect("x", strict=OPENAI_STRICT),
    }
    sent = '{"pattern": "*.py", "limit": null}'
    async with StrictServer(Calls(("find", sent))) as server:
        provider = PROVIDERS[protocol](
            base_url=server.url, api_key=KEY, limits=QUICK, dialect=dialects[protocol]
        )
        answer = reply(await ask(provider))
        await provider.aclose()
    (call,) = Message(role="assistant", blocks=answer.blocks).calls
    # OpenAI's strict mode makes the optional limit nullable; Anthropic's leaves it optional, so
    # that there a null is the model's own.
    assert call.arguments == (sent if protocol == "messages" else '{"pattern": "*.py"}')
    assert answer.raw is not None
    assert b"null" in answer.raw
    assert "strict" in json.dumps(server.seen[0].body["tools"])


@pytest.mark.req("provider-cancel")
async def test_cancelling_closes_the_connection(protocol: Protocol) -> None:
    async with playing(protocol, Hangs("So far")) as (server, provider):
        begun = asyncio.Event()
        task = asyncio.create_task(ask(provider, on_delta=lambda _: begun.set()))
        await asyncio.wait_for(begun.wait(), 10)
        assert not server.dropped.is_set()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.dropped.wait(), 10)


@pytest.mark.req("provider-classified-failures")
async def test_a_refused_request_is_a_failure_that_is_not_repeated(protocol: Protocol) -> None:
    orphan = Message(
        role="user", blocks=(ToolResultBlock(tool_use_id="ghost", status="ok", content="3"),)
    )
    async with playing(protocol, Says("Never.")) as (server, provider):
        failed = await ask(provider, [user("Hi"), orphan])
        assert isinstance(failed, ModelFailure)
        assert (failed.code, failed.attempts) == ("bad_request", 1)
        assert failed.message.endswith(server.refused[0])
        assert len(server.seen) == 1


@pytest.mark.req("provider-secrets")
async def test_the_key_travels_in_its_header_only(protocol: Protocol) -> None:
    async with playing(protocol, Says("Hi.")) as (server, provider):
        reply(await ask(provider))
        (seen,) = server.seen
        assert KEY in "".join(seen.headers.values())
        assert KEY not in json.dumps(seen.body)
        assert KEY not in repr(provider.__dict__.get("_dialect"))


@pytest.mark.req("provider-names")
async def test_a_made_up_tool_keeps_its_name_and_history_is_accepted(protocol: Protocol) -> None:
    made_up = ToolUseBlock(id="c1", name="rm -rf /", arguments="{}")
    result = ToolResultBlock(tool_use_id="c1", status="unknown_tool", content="no such tool")
    history = [
        user("Hi"),
        Message(role="assistant", blocks=(made_up,)),
        Message(role="user", blocks=(result,)),
    ]
    async with playing(protocol, Calls(("no_such", "{}")), Says("Ok.")) as (server, provider):
        first = reply(await ask(provider))
        (call,) = Message(role="assistant", blocks=first.blocks).calls
        assert call.name == "no_such"
        reply(await ask(provider, history))
        assert server.refused == []


@pytest.mark.req("provider-server-named")
async def test_a_server_that_is_not_there_is_named(protocol: Protocol) -> None:
    (port,) = free_ports(1)
    url = f"http://user:{KEY}@127.0.0.1:{port}/v1"
    provider = PROVIDERS[protocol](base_url=url, api_key=KEY, limits=AttemptLimits(attempts=1))
    outcome = await ask(provider, [user("Hello.")])
    await provider.aclose()
    assert isinstance(outcome, ModelFailure) and outcome.code == "unavailable"
    assert f"connection to http://127.0.0.1:{port} failed: ConnectionRefused" in outcome.message
    assert KEY not in outcome.message

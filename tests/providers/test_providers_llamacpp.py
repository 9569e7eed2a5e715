"""The three adapters, through the official SDKs, against a real llama.cpp server.

The model is the embedded one: what it says means little, how its server behaves is the point.
Each test is one of the quirks of such servers.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from provider_kit import PROVIDERS, TOOLS, ask, reply, with_results
from strict_rules import Protocol

from artificer.ports import Provider
from artificer.providers.local_process import Address
from artificer.values.blocks import Message, user
from artificer.values.model import ModelFailure, ToolChoice
from sampling import one_of

pytestmark = pytest.mark.real_model

PROTOCOLS = ("chat", "messages", "responses")
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)

HOME = Path(os.environ.get("ARTIFICER_HOME", "~/.artificer")).expanduser()
REQUIRED = ToolChoice(mode="required")


@pytest.fixture
async def provider(address: Address, protocol: Protocol) -> AsyncIterator[Provider]:
    made = provider_with_key(address, protocol, address.key)
    yield made
    await made.aclose()


def provider_with_key(address: Address, protocol: Protocol, key: str) -> Provider:
    path = "" if protocol == "messages" else "/v1"
    return PROVIDERS[protocol](base_url=address.url + path, api_key=key)


@pytest.mark.req("provider-loop", "provider-retries")
@pytest.mark.parametrize("protocol", one_of(PROTOCOLS, purpose="turns of a real model"))
async def test_turn_after_turn_though_each_stream_closes_its_connection(
    provider: Provider,
) -> None:
    messages = [user("What is 1 + 2?")]
    first = reply(await ask(provider, messages, tool_choice=REQUIRED, max_tokens=60))
    calls = Message(role="assistant", blocks=first.blocks).calls
    assert calls
    assert {call.name for call in calls} <= {tool.name for tool in TOOLS}
    messages = with_results(messages, first, "3")
    for _ in range(2):
        assert reply(await ask(provider, messages, max_tokens=4)).usage.input_tokens > 0


@pytest.mark.req("provider-stop-reasons")
@each_protocol
async def test_a_cut_call_is_never_reported_as_complete(provider: Provider) -> None:
    answer = reply(await ask(provider, tool_choice=REQUIRED, max_tokens=16))
    assert answer.stop == "max_tokens"


@pytest.mark.req("provider-classified-failures")
@each_protocol
async def test_an_overlong_prompt_is_a_context_overflow(provider: Provider) -> None:
    failed = await ask(provider, [user("word " * 9_000)], max_tokens=16)
    assert isinstance(failed, ModelFailure)
    assert failed.code == "context_overflow"


@pytest.mark.req("provider-classified-failures")
@each_protocol
async def test_a_wrong_key_is_named_in_whatever_shape_it_is_said(
    address: Address, protocol: Protocol
) -> None:
    provider = provider_with_key(address, protocol, "sk-not-the-key")
    failed = await ask(provider, max_tokens=16)
    await provider.aclose()
    assert isinstance(failed, ModelFailure)
    assert failed.code == "auth"
    assert "sk-not-the-key" not in failed.message

"""Providers that can cache the beginning of a prompt do so when a run asks for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from provider_kit import KEY, PROVIDERS, QUICK, TOOLS, a_request
from strict_cache import KEPT_TOKENS, cache_fault
from strict_rules import Protocol, check_request
from strict_server import Calls, Says, StrictServer

from artificer.core.price import Price
from artificer.ports import Call, Memo
from artificer.providers.anthropic import Anthropic
from artificer.providers.chat_wire import ChatDialect
from artificer.providers.dialects import MessagesDialect, ResponsesDialect
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.runtime.proving.replay import replay
from artificer.testing.rig import Rig
from artificer.values.blocks import user
from artificer.values.model import Usage

OWN: dict[Protocol, Any] = {"chat": OpenAIChat, "messages": Anthropic, "responses": OpenAIResponses}
DIALECTS: dict[Protocol, Any] = {
    "chat": ChatDialect("x", caches=True),
    "messages": MessagesDialect("x", caches=True),
    "responses": ResponsesDialect("x", caches=True),
}
PROTOCOLS: tuple[Protocol, ...] = ("chat", "messages", "responses")


def body(protocol: Protocol, key: str, **endpoint: str) -> dict[str, Any]:
    provider = OWN[protocol](**endpoint)
    return dict(provider.prepare(a_request(cache_key=key), [user("Hi.")], Memo()).body)


@pytest.mark.req("prompt-caching")
class TestRequests:
    def test_the_tools_the_system_prompt_and_the_last_message_are_marked(self) -> None:
        marked = body("messages", "k")
        check_request("messages", marked)
        assert "cache_control" in marked and "cache_control" in marked["system"][0]
        assert ["cache_control" in tool for tool in marked["tools"]] == [False, True]
        assert json.dumps(marked["messages"]).count("cache_control") == 0, "they only grow"
        bare = Anthropic().prepare(a_request(cache_key="k", tools=(), system=""), [], Memo())
        assert bare.body["cache_control"] and "tools" not in bare.body

    @pytest.mark.parametrize("protocol", ["chat", "responses"])
    def test_requests_that_begin_alike_are_named_alike(self, protocol: Protocol) -> None:
        named = body(protocol, "k" * 32)
        check_request(protocol, named)
        assert named["prompt_cache_key"] == "k" * 32

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_who_does_not_ask_sends_what_was_always_sent(self, protocol: Protocol) -> None:
        assert "cache" not in json.dumps(body(protocol, ""))

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_foreign_server_is_sent_nothing_of_it(self, protocol: Protocol) -> None:
        assert body(protocol, "k", base_url="http://other.invalid") == body(
            protocol, "", base_url="http://other.invalid"
        )

    def test_more_marks_than_the_provider_takes_are_refused_by_the_double(self) -> None:
        mark = {"cache_control": {"type": "ephemeral"}}
        marks = {"tools": [mark] * 4, "messages": [], **mark}
        assert "maximum of 4" in (cache_fault(marks) or "")
        thought = {"role": "assistant", "content": [{"type": "thinking", **mark}]}
        assert "thinking" in (cache_fault({"messages": [thought]}) or "")


@pytest.mark.req("prompt-caching")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("caching", [True, False])
async def test_every_turn_reads_what_the_one_before_has_written(
    protocol: Protocol, caching: bool
) -> None:
    async def find(call: Call) -> str:
        return "found"

    rig = Rig()
    rig.tools.add("find", find, schema=TOOLS[1].input_schema)
    turns = [Calls(("find", f'{{"pattern": "{n}"}}')) for n in range(3)]
    async with StrictServer(*turns, Says("Done.")) as server:
        provider = PROVIDERS[protocol](
            base_url=server.url, api_key=KEY, limits=QUICK, dialect=DIALECTS[protocol]
        )
        spec = {"caching": caching, "system": "Be brief.", "provider": provider.name}
        state = await rig.run(provider, **spec)
        replayed = await replay(rig.journal, rig.blobs, "run", provider)
        await provider.aclose()
    assert server.refused == [] and state.reason == "done"
    assert replayed.identical and replayed.requests == 4
    kept = KEPT_TOKENS if caching else 0
    assert (state.usage.input_tokens, state.usage.cached_tokens) == (40, 3 * kept)
    assert state.usage.written_tokens == (kept if protocol == "messages" else 0)


@pytest.mark.req("prompt-caching-price")
def test_what_is_written_and_read_has_its_own_price() -> None:
    usage = Usage(input_tokens=100, cached_tokens=60, written_tokens=30, output_tokens=10)
    price = Price(input=1_000_000, output=2_000_000, cached=100_000, written=1_500_000)
    assert price.micros(usage) == 10 + 6 + 45 + 20
    plain = Price(input=1_000_000, output=2_000_000)
    assert plain.micros(usage) == 120

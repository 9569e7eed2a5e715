"""Response formats on the wire: held to where a provider can be, told where it cannot."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from provider_kit import KEY, PROVIDERS, QUICK, TOOLS, a_request
from strict_rules import Protocol, Refused, check_request
from strict_server import Calls, Refuses, Says, StrictServer

from artificer.contracts.response_format import format_of
from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
from artificer.ports import Call, Memo
from artificer.providers.anthropic import Anthropic
from artificer.providers.dialects import ChatDialect, MessagesDialect, ResponsesDialect
from artificer.providers.local import Local
from artificer.providers.local_fetch import model_path
from artificer.providers.local_process import LocalServer
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.runtime.proving.replay import replay
from artificer.testing.rig import Rig
from artificer.values.base import JsonObject
from artificer.values.blocks import user

PERSON: JsonObject = {
    "title": "Person",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "born": {"type": "integer"},
        "died": {"type": "integer"},
    },
    "required": ["name", "born"],
}
HOME = Path(os.environ.get("ARTIFICER_HOME", "~/.artificer")).expanduser()
FREE: JsonObject = {"type": "object", "additionalProperties": {"type": "integer"}}
PROTOCOLS: tuple[Protocol, ...] = ("chat", "messages", "responses")
OWN: dict[Protocol, Any] = {"chat": OpenAIChat, "messages": Anthropic, "responses": OpenAIResponses}
DIALECTS: dict[Protocol, Any] = {
    "chat": ChatDialect("x", strict=OPENAI_STRICT, formats=True),
    "messages": MessagesDialect("x", strict=ANTHROPIC_STRICT, formats=True),
    "responses": ResponsesDialect("x", strict=OPENAI_STRICT, formats=True),
}


def body(protocol: Protocol, schema: JsonObject | None, **endpoint: str) -> dict[str, Any]:
    asked = None if schema is None else format_of(schema)
    request = a_request(response_format=asked)
    return dict(OWN[protocol](**endpoint).prepare(request, [user("Hi.")], Memo()).body)


def native(protocol: Protocol, sent: dict[str, Any]) -> Any:
    match protocol:
        case "chat":
            return sent.get("response_format", {}).get("json_schema")
        case "messages":
            return sent.get("output_config", {}).get("format")
        case "responses":
            return sent.get("text", {}).get("format")


@pytest.mark.req("response-format-native")
@pytest.mark.parametrize("protocol", PROTOCOLS)
class TestRequests:
    def test_its_own_api_is_held_to_the_strict_form(self, protocol: Protocol) -> None:
        sent = body(protocol, PERSON)
        check_request(protocol, sent)
        asked = native(protocol, sent)
        assert asked["schema"]["additionalProperties"] is False
        assert "minLength" in asked["schema"]["properties"]["name"]["description"]
        if protocol == "messages":
            assert asked["schema"]["required"] == ["name", "born"]
        else:
            assert asked["strict"] is True and asked["name"] == "Person"
            assert asked["schema"]["required"] == ["name", "born", "died"]
        assert "JSON Schema" not in json.dumps(sent), "who is held to it is not told"

    def test_what_its_strict_mode_cannot_say_is_told(self, protocol: Protocol) -> None:
        sent = body(protocol, FREE)
        check_request(protocol, sent)
        assert native(protocol, sent) is None
        assert json.dumps(json.dumps(FREE))[1:-1] in json.dumps(sent)

    def test_a_foreign_server_is_told(self, protocol: Protocol) -> None:
        sent = body(protocol, PERSON, base_url="http://other.invalid")
        assert native(protocol, sent) is None
        assert json.dumps(json.dumps(PERSON))[1:-1] in json.dumps(sent)

    def test_who_does_not_ask_sends_what_was_always_sent(self, protocol: Protocol) -> None:
        sent = body(protocol, None)
        assert not sent.keys() & {"response_format", "output_config", "text"}
        assert "Schema" not in json.dumps(sent)

    def test_what_is_set_beside_it_stays(self, protocol: Protocol) -> None:
        extra: JsonObject = {"output_config": {"effort": "low"}, "text": {"verbosity": "low"}}
        member = {"messages": "output_config", "responses": "text"}.get(protocol)
        dialect = type(DIALECTS[protocol])("x", formats=True, extra=extra if member else {})
        request = a_request(response_format=format_of(PERSON))
        sent = PROVIDERS[protocol](dialect=dialect).prepare(request, [user("Hi.")], Memo()).body
        assert native(protocol, sent)
        assert member is None or set(sent[member]) == {"format", *extra[member]}

    async def test_a_run_is_asked_until_it_fits_and_replays(self, protocol: Protocol) -> None:
        async def find(call: Call) -> str:
            return "1815"

        rig = Rig()
        rig.tools.add("find", find, schema=TOOLS[1].input_schema)
        turns = [
            Calls(("find", '{"pattern": "Ada"}')),
            Says("Ada was born in 1815."),
            Says('{"name": "Ada", "born": 1815, "died": null}'),
        ]
        async with StrictServer(*turns) as server:
            provider = PROVIDERS[protocol](
                base_url=server.url, api_key=KEY, limits=QUICK, dialect=DIALECTS[protocol]
            )
            spec = {"response_format": format_of(PERSON), "provider": provider.name}
            state = await rig.run(provider, **spec)
            replayed = await replay(rig.journal, rig.blobs, "run", provider)
            await provider.aclose()
        assert server.refused == [] and state.status == "completed"
        assert json.loads(state.narrative or "") == {"name": "Ada", "born": 1815}
        assert all(native(protocol, seen.body) for seen in server.seen)
        assert replayed.identical and replayed.requests == 3

    @pytest.mark.parametrize("ends", [Refuses("I will not."), Says('{"name": "A', cut=True)])
    async def test_refusals_and_cut_replies_fail(
        self, protocol: Protocol, ends: Refuses | Says
    ) -> None:
        rig = Rig()
        async with StrictServer(ends) as server:
            provider = PROVIDERS[protocol](
                base_url=server.url, api_key=KEY, limits=QUICK, dialect=DIALECTS[protocol]
            )
            spec = {"response_format": format_of(PERSON), "provider": provider.name}
            state = await rig.run(provider, **spec)
            await provider.aclose()
        reason = "refused" if isinstance(ends, Refuses) else "output_limit"
        assert (state.status, state.reason) == ("failed", reason)


@pytest.mark.req("response-format-native")
class TestTheDouble:
    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_schema_that_strict_modes_refuse_is_refused(self, protocol: Protocol) -> None:
        sent = body(protocol, PERSON)
        native(protocol, sent)["schema"]["properties"]["name"]["minLength"] = 1
        with pytest.raises(Refused, match="minLength"):
            check_request(protocol, sent)

    def test_anthropic_refuses_a_prefilled_reply(self) -> None:
        sent = body("messages", PERSON)
        sent["messages"].append({"role": "assistant", "content": [{"type": "text", "text": "{"}]})
        with pytest.raises(Refused, match="prefilling"):
            check_request("messages", sent)

    def test_optional_members_are_counted_together_with_those_of_tools(self) -> None:
        many = {f"m{n}": {"type": "integer"} for n in range(24)}
        sent = body("messages", {"type": "object", "properties": many})
        assert [tool.get("strict") for tool in sent["tools"]] == [True, None]
        check_request("messages", sent)
        sent["tools"][1]["strict"] = True
        sent["tools"][1]["input_schema"] |= {"additionalProperties": False}
        with pytest.raises(Refused):
            check_request("messages", sent)


@pytest.mark.req("response-format-native")
class TestTheEmbeddedModel:
    def test_it_is_held_to_a_narrow_schema_or_told_when_it_has_tools(self, tmp_path: Path) -> None:
        local = Local(tmp_path / "none.gguf")
        asked = format_of(PERSON)
        sent = local.prepare(a_request(tools=(), response_format=asked), [user("Hi.")], Memo()).body
        schema: Any = native("chat", sent)["schema"]
        assert list(schema["properties"]) == ["name", "born"]
        assert schema["properties"]["name"]["maxLength"]
        with_tools = local.prepare(a_request(response_format=asked), [user("Hi.")], Memo()).body
        assert native("chat", with_tools) is None and "JSON Schema" in json.dumps(with_tools)

    @pytest.mark.real_model
    async def test_a_real_model_cannot_write_anything_else(self, server: LocalServer) -> None:
        rig, local = Rig(), Local(model_path(HOME), server=server)
        state = await rig.run(
            local,
            prompt="Ada Lovelace, born in 1815. Extract the person.",
            provider="local",
            response_format=format_of(PERSON),
        )
        found = json.loads(state.narrative or "")
        assert state.status == "completed" and found["name"] and type(found["born"]) is int

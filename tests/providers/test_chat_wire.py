"""The pure half of Chat Completions: bodies and chunk streams."""

from __future__ import annotations

import json

import pytest

from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.ports import Memo
from artificer.providers.chat_wire import ChatDialect, ChatStream, prepare_request
from artificer.values.blocks import Message, TextBlock, ToolResultBlock, ToolUseBlock, user
from artificer.values.canon import digest
from artificer.values.model import ModelFailure, ModelReply, ToolChoice
from schemas import required_object

DIALECT = ChatDialect("test")
TOOL = ToolDefinition(
    name="fs.read", description="Read.", input_schema=required_object(path={"type": "string"})
)
REQUEST = ModelRequest(
    model="m", system="Be brief.", tools=(TOOL,), tool_choice=ToolChoice(), max_tokens=99
)
TURN = (
    user("Read it."),
    Message(
        role="assistant",
        blocks=(
            TextBlock(text="Reading."),
            ToolUseBlock(id="c 1", name="fs.read", arguments='{"path":'),
        ),
    ),
    Message(
        role="user",
        blocks=(ToolResultBlock(tool_use_id="c 1", status="invalid", content="no JSON"),),
    ),
)


def chunk(finish: str | None = None, **delta: object) -> dict[str, object]:
    return {"id": "r", "model": "m", "choices": [{"delta": delta, "finish_reason": finish}]}


def call(**piece: object) -> dict[str, object]:
    return chunk(tool_calls=[piece])


def reply_of(*chunks: object) -> ModelReply | ModelFailure:
    stream = ChatStream(DIALECT, (TOOL,), new_id=lambda: "fresh")
    for one in chunks:
        stream.feed(one)
    return stream.finish()


@pytest.mark.req("provider-chat-body")
def test_a_turn_becomes_system_user_calls_and_results() -> None:
    prepared = prepare_request(REQUEST, TURN, Memo(), DIALECT)
    system, prompt, calls, result = prepared.items
    assert system == {"role": "system", "content": "Be brief."}
    assert prompt == {"role": "user", "content": "Read it."}
    assert calls["content"] == "Reading."
    (sent,) = calls["tool_calls"]
    assert sent["function"]["name"] == "fs_read"
    assert json.loads(sent["function"]["arguments"]) == {"unparsable_arguments": '{"path":'}
    assert result == {
        "role": "tool",
        "tool_call_id": sent["id"],
        "content": "[invalid] no JSON",
    }


@pytest.mark.req("provider-chat-body")
def test_the_memo_keeps_every_item_and_the_body_does_not_change() -> None:
    memo = Memo()
    first = prepare_request(REQUEST, TURN[:1], memo, DIALECT)
    second = prepare_request(REQUEST, TURN, memo, DIALECT)
    assert all(a is b for a, b in zip(first.items, second.items, strict=False))
    assert digest(second.body) == digest(prepare_request(REQUEST, TURN, Memo(), DIALECT).body)


@pytest.mark.req("provider-stream-truncated")
def test_a_stream_without_a_finish_reason_is_truncated() -> None:
    reply = reply_of(chunk(content="Hel"))
    assert isinstance(reply, ModelFailure)
    assert reply.code == "stream_truncated"


@pytest.mark.req("provider-hostile-stream")
@pytest.mark.parametrize(
    "junk",
    [None, 7, "text", [], {"choices": [None]}, {"choices": {"a": 1}}, {"usage": [1]}],
)
def test_junk_chunks_never_raise(junk: object) -> None:
    reply = reply_of(junk, chunk(content="x"), chunk("stop"))
    assert isinstance(reply, ModelReply) or reply.code == "malformed_response"


@pytest.mark.req("provider-hostile-stream")
def test_an_endless_list_of_calls_is_stopped() -> None:
    reply = reply_of(*(call(index=n, id=f"c{n}", function={"name": "x"}) for n in range(600)))
    assert isinstance(reply, ModelFailure)
    assert reply.code == "malformed_response"


@pytest.mark.req("provider-call-ids")
def test_missing_and_repeated_ids_are_replaced() -> None:
    reply = reply_of(
        call(index=0, id="same", function={"name": "fs_read", "arguments": "{}"}),
        call(index=1, function={"name": "fs_read", "arguments": "{}"}),
        chunk("tool_calls"),
    )
    assert isinstance(reply, ModelReply)
    (message,) = [Message(role="assistant", blocks=reply.blocks)]
    assert [c.id for c in message.calls] == ["same", "fresh"]
    assert [c.name for c in message.calls] == ["fs.read", "fs.read"]

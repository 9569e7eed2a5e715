"""Golden streams: shapes of real servers, kept as data, and the replies they must become.

Each case of ``tests/cases/providers/*.json`` names its protocol, says where its shape comes from,
lists the stream's events, and gives the expected reply (or failure) in our normal form.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from provider_kit import TOOLS

from artificer.providers.assembler import ReplyStream
from artificer.providers.chat_wire import ChatDialect, ChatStream
from artificer.providers.messages_wire import MessagesDialect, MessagesStream
from artificer.providers.responses_wire import ResponsesDialect, ResponsesStream

CASES = [
    pytest.param(case, id=f"{path.stem}-{case['name']}")
    for path in sorted((Path(__file__).parent.parent / "cases" / "providers").glob("*.json"))
    for case in json.loads(path.read_text())
]


def stream_for(case: dict[str, Any]) -> ReplyStream:
    if case["protocol"] == "chat":
        return ChatStream(ChatDialect("x"), TOOLS, new_id=lambda: "new")
    if case["protocol"] == "messages":
        return MessagesStream(MessagesDialect("x"), TOOLS, new_id=lambda: "new")
    return ResponsesStream(ResponsesDialect("x"), TOOLS, 100, new_id=lambda: "new")


@pytest.mark.req("provider-golden-streams")
@pytest.mark.parametrize("case", CASES)
def test_golden_stream(case: dict[str, Any]) -> None:
    stream = stream_for(case)
    deltas = [delta for event in case["events"] for delta in stream.feed(event)]
    outcome = stream.finish()
    found = outcome.replace(raw=None, attempts=1).to_json(defaults=False)
    blocks = getattr(outcome, "blocks", ())
    if blocks:
        found["blocks"] = [
            {name: member for name, member in block.to_json().items() if name != "provider"}
            for block in blocks
        ]
    assert found == case["expected"]
    if "live_text" in case:
        live = "".join(d.text for d in deltas if d.type == "text")
        assert live == case["live_text"]
    json.loads(getattr(outcome, "raw", None) or b"null")


@pytest.mark.req("provider-deltas")
def test_two_calls_that_say_the_same_are_two_in_the_live_view() -> None:
    stream = ChatStream(ChatDialect("x"), TOOLS)
    piece = {"function": {"name": "add", "arguments": "{}"}}
    event = {"choices": [{"delta": {"tool_calls": [piece, piece]}}]}
    assert [getattr(delta, "index", None) for delta in stream.feed(event)] == [0, 1]

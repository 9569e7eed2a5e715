"""Any history that the core can build is accepted by what a real provider would check."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_kit import TOOLS, a_request
from strict_rules import Protocol, check_request

from artificer.contracts.definition import ModelRequest, toolset
from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
from artificer.core.context import summary_request
from artificer.core.intents import Compact
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.window import Window, boundaries, sent
from artificer.ports import Memo, PreparedRequest
from artificer.providers import chat_wire, messages_wire, responses_wire
from artificer.values.blocks import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from artificer.values.canon import canonical, digest_of
from artificer.values.model import ToolChoice
from artificer.values.strict_json import parse_object

CHAT = chat_wire.ChatDialect("a", strict=OPENAI_STRICT, caches=True)
MESSAGES = messages_wire.MessagesDialect("a", strict=ANTHROPIC_STRICT, caches=True)
RESPONSES = responses_wire.ResponsesDialect("a", strict=OPENAI_STRICT, caches=True)

NOTHING = digest_of(b"")

Wire = Callable[[ModelRequest, Sequence[Message], Memo], PreparedRequest]

THINKING = {
    "a/chat": {"reasoning_content": "Hm."},
    "a/messages": {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    "a/responses": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    "b/messages": {"type": "thinking", "thinking": "Hm.", "signature": "other"},
}

words = st.sampled_from(["", " ", "\n", "Hello.", "ünï ∑ 🎈", '{"a": 1}'])
arguments = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "",
            "{}",
            '{"a": 1, "a": 2}',
            '{"a": NaN}',
            '{"a": 123456789012345678901}',
            '{"a": "\\ud800"}',
            "[1]",
            "null",
            '{"a": 1',
            "[" * 100,
            '{"a": 1.5}',
        ]
    ),
)
names = st.one_of(st.sampled_from(["math.add", "find", "math_add", ""]), st.text(max_size=70))
ids = st.one_of(st.sampled_from(["toolu_01", "call_1", "x" * 64, "a b", "é"]), st.text(max_size=5))
texts = st.builds(TextBlock, text=words)
reasoning = st.sampled_from(sorted(THINKING)).map(
    lambda tag: ReasoningBlock(provider=tag, data=json.dumps(THINKING[tag]))
)
statuses = st.sampled_from(["ok", "error", "invalid", "unknown_tool", "denied", "ambiguous"])


@st.composite
def turns(draw: st.DrawFn, number: int) -> list[Message]:
    """One reply with any blocks, and a user message with exactly one result per call."""
    calls = draw(st.lists(st.tuples(ids, names, arguments), max_size=3, unique_by=lambda c: c[0]))
    blocks: list[Block] = [
        ToolUseBlock(id=f"{call_id}{number}", name=name, arguments=raw)
        for call_id, name, raw in calls
    ]
    blocks = draw(st.lists(reasoning | texts, max_size=3)) + blocks + draw(st.lists(texts))
    results: list[Block] = [
        ToolResultBlock(tool_use_id=block.id, status=draw(statuses), content=draw(words))
        for block in blocks
        if isinstance(block, ToolUseBlock)
    ]
    after = draw(st.lists(texts, max_size=1)) if results else [TextBlock(text=draw(words))]
    return [
        Message(role="assistant", blocks=tuple(draw(st.permutations(blocks)))),
        Message(role="user", blocks=tuple(results + after)),
    ]


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    history = [user(draw(words))]
    for number in range(draw(st.integers(0, 3))):
        history += draw(turns(number))
    return history


WIRES: dict[Protocol, Wire] = {
    "chat": lambda *asked: chat_wire.prepare_request(*asked, CHAT),
    "messages": lambda *asked: messages_wire.prepare_request(*asked, MESSAGES),
    "responses": lambda *asked: responses_wire.prepare_request(*asked, RESPONSES),
}


def requests(history: list[Message], **changes: object) -> dict[Protocol, PreparedRequest]:
    request = a_request(**changes)
    return {protocol: wire(request, history, Memo()) for protocol, wire in WIRES.items()}


@pytest.mark.req("provider-any-history")
@given(histories())
def test_every_paired_history_is_accepted(history: list[Message]) -> None:
    for protocol, prepared in requests(history).items():
        check_request(protocol, prepared.body)
        assert json.loads(canonical(prepared.body)) == prepared.body


@pytest.mark.req("context-window")
@given(histories())
def test_wherever_a_window_may_begin_the_rest_is_accepted(history: list[Message]) -> None:
    for start in (0, *boundaries(history, 0)):
        assert all(start < later <= len(history) for later in boundaries(history, start))
        window = list(sent(history, Window(start=start, opening="[Left out.]")))
        for protocol, prepared in requests(window).items():
            check_request(protocol, prepared.body)


@pytest.mark.req("context-any")
@given(histories(), st.sampled_from([1, 300, 20_000]), st.sampled_from(["", "Earlier."]))
def test_what_is_asked_for_a_summary_is_accepted(
    history: list[Message], room: int, summary: str
) -> None:
    """In one message of lines, whatever was said in those that give way."""
    spec = RunSpec(
        kind="chat",
        prompt=".",
        model="m",
        provider="a",
        toolset=toolset(TOOLS).to_text(),
        compaction="Summarise.",
        caching=True,
    )
    state = RunState(spec=spec, history=tuple(history), window=Window(summary=summary))
    asked = {"n": 1, "turn": 2, "why": "limit", "history": NOTHING, "told": 0}
    intent = Compact(**asked, upto=len(history), room=room, max_tokens=1)
    request, messages = summary_request(state, intent)
    (said,) = messages
    lines = [json.loads(line) for line in said.text.split("\n")]
    assert len(lines) <= len(history) + 2
    assert all(line.keys() & {"role", "left_out", "summary_of_what_was_before"} for line in lines)
    for protocol, wire in WIRES.items():
        check_request(protocol, wire(request, messages, Memo()).body)


@pytest.mark.req("context-prefix")
@given(histories(), st.booleans())
def test_a_conversation_that_grows_begins_with_the_bytes_that_were_sent_before(
    history: list[Message], moved: bool
) -> None:
    """A provider finds its cached prefix again in the next turn, until the window moves."""
    window = Window(start=0, opening="[Left out.]") if moved else Window()
    memos: dict[Protocol, Memo] = {"chat": Memo(), "messages": Memo(), "responses": Memo()}
    before: dict[Protocol, tuple[bytes, list[bytes]]] = {}
    for upto in range(1, len(history) + 1, 2):
        messages = list(sent(history[:upto], window))
        for protocol, fresh in requests(messages, cache_key="k").items():
            grown = WIRES[protocol](a_request(cache_key="k"), messages, memos[protocol])
            assert canonical(grown.body) == canonical(fresh.body), "remembered or made anew"
            rest, items = canonical(fresh.fields), [canonical(item) for item in fresh.items]
            known = before.get(protocol, (rest, []))
            assert (rest, items[: len(known[1])]) == known
            before[protocol] = (rest, items)


@pytest.mark.req("provider-any-history")
@given(histories(), st.sampled_from([(), TOOLS]))
def test_requests_with_and_without_tools_are_accepted(
    history: list[Message], tools: tuple[object, ...]
) -> None:
    for mode in ("auto", "none", "required"):
        changes = {"tools": tools, "tool_choice": ToolChoice(mode=mode), "system": " "}
        for protocol, prepared in requests(history, **changes).items():
            check_request(protocol, prepared.body)


@pytest.mark.req("provider-any-history", "provider-raw-arguments")
@given(arguments)
def test_any_text_as_arguments_becomes_an_object_that_says_what_it_was(raw: str) -> None:
    call = ToolUseBlock(id="c", name="find", arguments=raw)
    result = ToolResultBlock(tool_use_id="c", status="invalid", content="no")
    history = [
        user("Hi"),
        Message(role="assistant", blocks=(call,)),
        Message(role="user", blocks=(result,)),
    ]
    bodies = requests(history)
    sent = [
        json.loads(bodies["chat"].items[2]["tool_calls"][0]["function"]["arguments"]),
        bodies["messages"].items[1]["content"][0]["input"],
        json.loads(bodies["responses"].items[1]["arguments"]),
    ]
    parsed = parse_object(raw)
    expected = parsed if isinstance(parsed, dict) else {"unparsable_arguments": raw}
    assert sent == [expected] * 3


@pytest.mark.req("provider-reasoning")
@given(histories())
def test_reasoning_of_others_is_never_sent(history: list[Message]) -> None:
    sent = {protocol: json.dumps(prepared.body) for protocol, prepared in requests(history).items()}
    assert "Hm." not in sent["chat"]
    assert '"signature": "other"' not in sent["messages"]
    assert "reasoning_content" not in sent["messages"]
    assert '"signature"' not in sent["responses"]


@pytest.mark.req("provider-reasoning")
def test_own_reasoning_goes_back_in_its_place() -> None:
    def thinking(tag: str) -> ReasoningBlock:
        return ReasoningBlock(provider=tag, data=json.dumps(THINKING[tag]))

    def history(tag: str) -> list[Message]:
        blocks = (
            thinking(tag),
            TextBlock(text="One."),
            thinking(tag),
            ToolUseBlock(id="c", name="find", arguments="{}"),
        )
        result = ToolResultBlock(tool_use_id="c", status="ok", content="x")
        return [
            user("Hi"),
            Message(role="assistant", blocks=blocks),
            Message(role="user", blocks=(result,)),
        ]

    content = requests(history("a/messages"))["messages"].items[1]["content"]
    assert [block["type"] for block in content] == ["thinking", "text", "thinking", "tool_use"]
    assert content[0] == THINKING["a/messages"]
    items = requests(history("a/responses"))["responses"].items[1:5]
    assert [item["type"] for item in items] == [
        "reasoning",
        "message",
        "reasoning",
        "function_call",
    ]
    assert items[0] == THINKING["a/responses"]
    dialect = chat_wire.ChatDialect("a", returns_reasoning=True)
    back = chat_wire.prepare_request(a_request(), history("a/chat"), Memo(), dialect).items[2]
    assert back["reasoning_content"] == "Hm."

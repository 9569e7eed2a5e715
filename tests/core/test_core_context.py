"""Where a window begins, computed from the state alone."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.artifacts.ref import ArtifactRef
from artificer.contracts.definition import toolset
from artificer.core.context import compaction, opening
from artificer.core.intents import Compact
from artificer.core.measure import context_after
from artificer.core.spec import Limits, RunSpec
from artificer.core.state import RunState
from artificer.core.window import boundaries
from artificer.values.blocks import (
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from artificer.values.canon import digest_of
from artificer.values.model import Usage
from artificer.values.tokens import tokens_of

measured: list[Message] = []


class Weighed(Message):
    """A message that notes how often it is measured."""

    def identity(self) -> bytes:
        measured.append(self)
        return super().identity()


def turn(number: int) -> list[Message]:
    asked = ToolUseBlock(id=f"c{number}", name="read", arguments="{}")
    found = ToolResultBlock(tool_use_id=f"c{number}", status="ok", content="x" * 200)
    return [Weighed(role="assistant", blocks=(asked,)), Weighed(role="user", blocks=(found,))]


def spec_of(**facts: Any) -> RunSpec:
    spec = {"kind": "chat", "prompt": "Go.", "model": "m", "provider": "scripted", **facts}
    return RunSpec(toolset=toolset(()).to_text(), **spec)


def said(text: str) -> Message:
    return Message(role="assistant", blocks=(TextBlock(text=text),))


@pytest.mark.req("context-window", "context-said-last")
class TestBoundaries:
    def test_what_the_user_said_last_is_never_left_out(self) -> None:
        history = [user("Go."), *turn(1), said("Done."), user("And then?")]
        assert boundaries(history, 0) == [3, 4]
        assert boundaries(history, 4) == []

    def test_results_may_be_left_out_when_nothing_else_is_left(self) -> None:
        history = [user("Go."), *turn(1), *turn(2)]
        assert boundaries(history, 0) == [3, 5]

    def test_a_window_begins_at_no_result_and_with_a_reply_less(self) -> None:
        assert boundaries([user("Go."), user("Now.")], 0) == []
        assert boundaries([user("Go."), *turn(1), user("Now."), *turn(2)], 0) == [3, 4, 6]


@pytest.mark.req("context-counted")
class TestCounted:
    usage = Usage(input_tokens=100, output_tokens=5)

    @pytest.mark.parametrize(("chars", "believed"), [(80, True), (81, False)])
    def test_a_reply_that_its_count_cannot_hold_is_estimated(
        self, chars: int, believed: bool
    ) -> None:
        reply = Message(role="assistant", blocks=(TextBlock(text="x" * chars),))
        expected = 5 if believed else tokens_of(reply.identity())
        assert context_after(spec_of(rules=2), self.usage, reply) == 100 + expected
        assert context_after(spec_of(rules=1), self.usage, reply) == 105, "as it was"

    def test_calls_count_too(self) -> None:
        calls = (ToolUseBlock(id="c", name="write", arguments='{"text":"' + "x" * 80 + '"}'),)
        reply = Message(role="assistant", blocks=calls)
        assert context_after(spec_of(rules=2), self.usage, reply) > 140

    def test_reasoning_may_be_longer_than_its_tokens(self) -> None:
        thought = ReasoningBlock(provider="p", data="e" * 9_000)
        reply = Message(role="assistant", blocks=(thought, TextBlock(text="Yes.")))
        assert context_after(spec_of(rules=2), self.usage, reply) == 105


@pytest.mark.req("context-linear")
@pytest.mark.parametrize("turns", [10, 200])
def test_each_message_is_measured_once_however_many_there_are(turns: int) -> None:
    spec = spec_of(limits=Limits(context_tokens=1_000), compaction="Summarise.")
    history = [user("Go."), *(message for n in range(turns) for message in turn(n))]
    history += [Weighed(role="assistant", blocks=(TextBlock(text="Done."),)), user("And then?")]
    state = RunState(spec=spec, history=tuple(history), context_tokens=200 * turns)
    measured.clear()
    intent = compaction(state, "limit")
    assert intent is not None and intent.upto == len(history) - 1
    assert len(measured) <= 2 * len(history), "once for where to begin, once for what goes"


@pytest.mark.req("context-any")
def test_what_stands_for_the_rest_is_bounded_but_for_the_prompt() -> None:
    """However much was made and said since."""
    made = tuple(
        ArtifactRef(kind="list", id=f"list-{n}", tool="create_list", payload=digest_of(b""))
        for n in range(2_000)
    )
    said = [user("Do it: " + "p" * 9_000), *(user(f"{n} " + "s" * 900) for n in range(99))]
    intent = Compact(
        n=1, turn=2, why="limit", history=digest_of(b""), told=0, upto=100, room=800, max_tokens=9
    )
    told = opening(RunState(history=tuple(said), artifacts=made), intent, "A summary.")
    assert said[0].text in told
    assert "98 sss" in told and "97 sss" not in told, "the newest, as far as there is room"
    assert "list:list-0," in told and "list:list-1999" in told
    assert len(told) < 9_000 + 3 * 800

"""Single steps of the reducer and its facts, each from a state that is made for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.withdraw import Withdrawal
from artificer.backends.artifact import offered
from artificer.contracts.definition import ToolDefinition, toolset
from artificer.core import events as ev
from artificer.core.conversation import with_message
from artificer.core.explain import explain
from artificer.core.gate import judge
from artificer.core.intents import CheckReply, Finish, Generate
from artificer.core.policy import Occasion, Policy, PolicyQuery, PolicyText, Rule, decide
from artificer.core.price import Price
from artificer.core.repeats import Repeats
from artificer.core.reported import counted
from artificer.core.reports import check_report, conclude_report, made_or_withdrawn, reopened
from artificer.core.spec import Limits, RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.transitions import reduce
from artificer.core.turns import next_turn, overflowed
from artificer.core.window import Window, sent
from artificer.values.blocks import Message, TextBlock, ToolUseBlock, user
from artificer.values.model import Usage

DIGEST = "sha256:" + "0" * 64
POLICY = Policy()


def begun(**facts: Any) -> RunState:
    """A run of rules 2 whose first request is under way, and what else it knows."""
    spec = RunSpec(
        kind="chat",
        prompt="Go.",
        provider="scripted",
        model="m",
        toolset=toolset(()).to_text(),
        limits=Limits(repairs=1, continuations=1),
        rules=2,
    )
    state, _ = reduce(RunState(), ev.PromptReceived(at=1, spec=spec, release="0"))
    return state.replace(**facts)


def said(text: str) -> Message:
    return Message(role="assistant", blocks=(TextBlock(text=text),))


def texts(state: RunState) -> list[str]:
    return [message.text for message in state.history]


@pytest.mark.req("fork")
def test_a_fork_does_not_take_on_what_people_still_had_to_ask_its_origin() -> None:
    event = ev.RunForked(at=2, origin=ev.Origin(run="r", seq=1, hash=DIGEST))
    state, intents = reduce(begun(follow_ups=("And then?",)), event)
    assert state.follow_ups == ()
    assert [type(intent) for intent in intents] == [Generate]


@pytest.mark.req("run-follow-up")
def test_a_follow_up_has_all_its_rounds_of_repair() -> None:
    state = begun(phase=RunPhase.FINISHED, pending=(), repairs=1, status="completed")
    state, _ = reduce(state, ev.FollowUpReceived(at=2, letter=1, by="", text="And now?"))
    assert (state.repairs, state.phase) == (0, RunPhase.GENERATING)


@pytest.mark.req("loop-limits")
def test_a_call_that_the_server_refuses_is_written_again_as_often_as_a_report_is_mended() -> None:
    def failed(intent: int) -> ev.ModelFailed:
        return ev.ModelFailed(
            at=2, intent=intent, code="invalid_call", message="Bad.", attempts=1, duration_ms=0
        )

    state, intents = reduce(begun(), failed(1))
    assert [type(intent) for intent in intents] == [Generate]
    assert '"invalid"' in texts(state)[-1] and "The server said: Bad." in texts(state)[-1]
    _, intents = reduce(state, failed(2))
    (end,) = intents
    assert isinstance(end, Finish) and end.reason == "model_failed"


@pytest.mark.req("report-follow-up")
def test_what_was_said_next_to_a_report_is_not_said_next_to_a_later_one() -> None:
    assert reopened(begun(message="You are welcome.")).message == ""


@pytest.mark.req("report-early-end")
def test_a_refusal_is_shown_with_the_report_that_it_does_not_replace() -> None:
    state = begun(narrative="The report.", last_text="I cannot do that.")
    delivered, _ = conclude_report(state, "refused", "")
    assert (delivered.narrative, delivered.message) == ("The report.", "I cannot do that.")


@pytest.mark.req("report-continued")
@pytest.mark.parametrize(
    ("kept", "cut"), [("The report.", True), ("The report.", False), ("", False)]
)
def test_while_a_reply_is_continued_the_report_stays_as_it_was(kept: str, cut: bool) -> None:
    state = begun(narrative=kept or None, narrative_cut=cut, stop="max_tokens")
    state = with_message(state, said("A longer re"))
    checked = check_report(state, CheckReply(n=2, turn=1), at=3)
    assert checked.unfinished == "A longer re"
    assert (checked.narrative, checked.cut) == (kept, cut)


@pytest.mark.req("report-uncited")
@pytest.mark.parametrize(
    ("fault", "reproached"),
    [("| a | b |\n| --- | --- |\n| 1 | 2 |", True), ("{{artifact:table:gone}}", False)],
)
def test_a_short_reply_to_a_request_for_a_repair_has_not_made_it(
    fault: str, reproached: bool
) -> None:
    """A missing artifact may have been made meanwhile; bad writing stays bad."""
    chart = ArtifactRef(kind="chart", id="a", tool="create_pie_chart", payload=DIGEST)
    kept = f"# Report\n\n{{{{artifact:chart:a}}}}\n\n{fault}\n"
    state = begun(narrative=kept, artifacts=(chart,), mending=True, stop="end_turn")
    checked = check_report(with_message(state, said("Done.")), CheckReply(n=2, turn=1), at=3)
    assert checked.request is not None
    assert ("has not corrected the answer" in checked.request) == reproached


@pytest.mark.req("run-steer")
class TestWordsAndNotes:
    def test_what_the_runtime_notes_is_not_what_a_person_said_last(self) -> None:
        before = begun()
        after, _ = next_turn(before.replace(notes=("A call was refused.",)))
        assert texts(after)[-1] == "A call was refused."
        assert after.said == before.said

    def test_that_a_model_repeats_itself_is_said_once(self) -> None:
        after, _ = next_turn(begun(repeats=Repeats(note="Again.")))
        assert texts(after)[-1] == "Again." and after.repeats.note == ""

    def test_what_a_person_said_does_not_make_later_notes_theirs(self) -> None:
        after, _ = next_turn(begun(notes=("Be brief.",), steered=True))
        assert (after.said, after.steered, after.notes) == (len(after.history) - 1, False, ())


@pytest.mark.req("loop-limits")
def test_a_run_that_has_spent_nothing_may_spend_all_that_it_is_allowed() -> None:
    spec = RunSpec(
        kind="chat",
        prompt="Go.",
        provider="scripted",
        model="m",
        toolset=toolset(()).to_text(),
        limits=Limits(cost_micros=1_000, max_tokens=5_000),
        price=Price(input=0, output=1_000_000),
    )
    state, _ = reduce(RunState(), ev.PromptReceived(at=1, spec=spec, release="0"))
    assert state.reply_tokens == 1_000


@pytest.mark.req("run-interrupt-gently")
@pytest.mark.parametrize("step", [next_turn, overflowed])
def test_an_interrupted_run_asks_for_no_reply(step: Any) -> None:
    _, intents = step(begun(hold="interrupt", turn=1))
    (end,) = intents
    assert isinstance(end, Finish) and end.reason == "interrupted"


@pytest.mark.req("context-window")
def test_the_opening_joins_the_words_of_the_user_that_follow_and_all_else_is_sent() -> None:
    history = (user("Go."), said("Done."), user("More."), said("Well."), user("Now?"))
    first, *rest = sent(history, Window(start=2, opening="Before: Go."))
    opening, words = first.blocks
    assert isinstance(opening, TextBlock) and opening.text == "Before: Go."
    assert (first.role, words) == ("user", history[2].blocks[0])
    assert rest == list(history[3:])


@pytest.mark.req("report-uncited")
class TestWithdrawn:
    CHART = ArtifactRef(kind="chart", id="a", tool="create_pie_chart", payload=DIGEST)
    GONE = Withdrawal(kind="chart", id="a")

    def test_what_is_made_again_is_not_withdrawn(self) -> None:
        other = Withdrawal(kind="table", id="a")
        state = made_or_withdrawn(begun(withdrawn=(self.GONE, other)), self.CHART, None)
        assert state.withdrawn == (other,)

    def test_what_is_withdrawn_twice_is_noted_once(self) -> None:
        state = begun(artifacts=(self.CHART,))
        for _ in range(2):
            state = made_or_withdrawn(state, None, self.GONE)
        assert (state.withdrawn, state.artifacts) == ((self.GONE,), ())


@pytest.mark.req("budget-reports")
class TestCounted:
    def usage(self, *blocks: TextBlock, **reported: int) -> Usage:
        return counted(
            Usage(**reported), estimate=100, sent=lambda: b"x" * 300, blocks=blocks, longest=50
        )

    def test_a_request_and_a_reply_take_tokens_whatever_is_reported(self) -> None:
        usage = self.usage(TextBlock(text="Hello."), input_tokens=0, output_tokens=0)
        assert usage.input_tokens > 0 and usage.output_tokens > 0

    def test_an_input_may_come_from_the_cache_as_a_whole(self) -> None:
        usage = self.usage(input_tokens=90, cached_tokens=60, written_tokens=30)
        assert (usage.cached_tokens, usage.written_tokens) == (60, 30)


READ = ToolDefinition(
    name="read",
    description="Read.",
    input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
)


def verdicts(*numbers: int, limit: int = 9, policy: Policy = POLICY) -> list[str]:
    """Return the gate's answers to calls of one reply, each with its number as argument."""
    calls = tuple(
        ToolUseBlock(id=f"c{at}", name="read", arguments=f'{{"n":{number}}}')
        for at, number in enumerate(numbers)
    )
    tools = toolset((READ,))
    judged = judge(calls, toolset=tools, policy=policy, made=(), limit=limit, stop="tool_use")
    return [verdict.verdict for verdict in judged]


@pytest.mark.req("gate-total")
class TestCallsOfOneReply:
    def test_as_many_as_a_reply_may_hold_and_no_more(self) -> None:
        assert verdicts(1, 2, 3, limit=2) == ["allow", "allow", "invalid"]

    def test_a_person_is_asked_once_about_the_same_call(self) -> None:
        assert verdicts(1, 1, 2, policy=Policy(default="ask")) == ["ask", "duplicate", "ask"]


@pytest.mark.req("gate-total")
def test_an_artifact_is_judged_and_run_without_the_members_that_say_nothing() -> None:
    given = {"name": "a.md", "content": "x", "replace": None}
    call = ToolUseBlock(id="c", name="create_file", arguments=json.dumps(given))
    tools = toolset(offered.tools())
    (said,) = judge((call,), toolset=tools, policy=POLICY, made=(), limit=1, stop="tool_use")
    assert (said.verdict, said.problems) == ("allow", ())
    assert json.loads(said.arguments or "") == {"name": "a.md", "content": "x"}


@pytest.mark.req("cedar-closed")
def test_where_nobody_can_be_asked_about_cedar_nothing_is_allowed() -> None:
    policy = Policy(
        cedar=(PolicyText(name="a.cedar", text="permit(principal, action, resource);"),)
    )
    said = decide(policy, READ)
    assert (said.decision, said.rule) == ("deny", "cedar") and said.reason


@pytest.mark.req("policy-explain")
def test_an_explanation_says_that_it_is_the_workspace_that_a_rule_does_not_match() -> None:
    policy = Policy(rules=(Rule(decision="allow", workspace="draft-*"),), default="deny")
    (step,) = explain(policy, PolicyQuery(READ, {"workspace": "main"}, Occasion())).steps
    assert (step.outcome, step.because) == ("does not match", ("workspace",))

"""The table of transitions: complete, closed, and drawn in the docs as it is."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from artificer.builds.facts import RetryRequested
from artificer.core import events as ev
from artificer.core.facts import establish
from artificer.core.intents import Finish, Generate, JudgeCalls
from artificer.core.spec import RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.transitions import TABLE, reduce
from artificer.errors import InvariantError, TransitionError
from artificer.values.blocks import ToolUseBlock
from artificer.values.model import Usage

DOCS = Path(__file__).parents[2] / "docs"
DIGEST = "sha256:" + "0" * 64
SPEC = RunSpec(kind="chat", prompt="Go.", provider="scripted", model="m", toolset='{"tools":[]}')

EVENTS: tuple[ev.Event, ...] = (
    ev.PromptReceived(at=1, spec=SPEC, release="0"),
    ev.ModelResponded(
        at=2,
        intent=1,
        blocks=(),
        stop="end_turn",
        usage=Usage(),
        model="",
        response_id="",
        attempts=1,
        duration_ms=0,
    ),
    ev.ModelFailed(at=2, intent=1, code="timeout", message="", attempts=1, duration_ms=0),
    ev.CallsJudged(at=2, intent=2, verdicts=()),
    ev.ApprovalAnswered(at=2, intent=3, approved=True, by="", reason="", content=""),
    ev.ToolReturned(at=2, intent=3, status="ok", content="", duration_ms=0),
    ev.CallWaiting(at=2, intent=3, run="r.write-1", standing="waiting"),
    ev.CallContinued(at=2, intent=3),
    ev.ReplyChecked(at=2, intent=2, narrative=""),
    ev.RunResumed(at=2, epoch=2),
    ev.CancelRequested(at=2, reason="", content=""),
    ev.RunPruned(at=2, records=1),
    ev.RunForked(at=2, origin=ev.Origin(run="r", seq=1, hash=DIGEST)),
    ev.InterruptRequested(at=2, letter=1, by="", reason="", content=""),
    ev.PauseRequested(at=2, letter=1, by="", reason=""),
    ev.Steered(at=2, letter=1, by="", text="Be brief."),
    ev.FollowUpReceived(at=2, letter=1, by="", text="And now?"),
    ev.DoubtResolved(at=2, letter=1, by="", call_id="a", happened=True, reason="", content=""),
    ev.BuildAdvanced(at=2, fact=RetryRequested()),
    ev.CallProbed(at=2, intent=3, found="absent"),
    ev.ReceiptIgnored(at=2, what="letter", reason="too late"),
    ev.ContextCompacted(
        at=2,
        intent=2,
        upto=2,
        summary="s",
        content="c",
        usage=Usage(),
        model="",
        response_id="",
        attempts=1,
        duration_ms=0,
    ),
    ev.CompactionFailed(at=2, intent=2, upto=2, code="timeout", message="", content="c"),
    ev.ChecklistTicked(
        at=2,
        checklist="x",
        version=DIGEST,
        item="x",
        label="x",
        checked=True,
        revision=1,
        content="x",
        by="x",
        letter=1,
    ),
    ev.RunFinished(at=2, intent=3, status="completed", deliverable=DIGEST),
)
TYPES = tuple(type(event) for event in EVENTS)


@pytest.mark.req("transitions-closed")
class TestTable:
    def test_these_are_all_events(self) -> None:
        assert set(get_args(ev.Event)) == set(TYPES)

    @pytest.mark.parametrize(
        ("phase", "event"),
        [(p, e) for p in RunPhase for e in EVENTS if (p, type(e)) not in TABLE],
        ids=lambda value: getattr(value, "type", value),
    )
    def test_an_event_without_a_row_is_refused(self, phase: RunPhase, event: ev.Event) -> None:
        with pytest.raises(TransitionError, match=event.type):
            reduce(RunState(phase=phase), event)

    def test_every_row_is_of_a_known_phase_and_event(self) -> None:
        for (phase, event), row in TABLE.items():
            assert phase in RunPhase and event in TYPES
            assert row.leads_to <= set(RunPhase)

    def test_every_phase_can_be_reached_and_left(self) -> None:
        reached, last = {RunPhase.NEW}, set[RunPhase]()
        while reached != last:
            last = set(reached)
            for (phase, _), row in TABLE.items():
                reached |= row.leads_to if phase in reached else set()
        assert reached == set(RunPhase)
        left = {phase for phase, _ in TABLE}
        assert left == set(RunPhase)

    def test_phases_within_a_commit_take_only_their_one_fact(self) -> None:
        """So that a journal never ends in one of them."""
        for phase in (RunPhase.JUDGING, RunPhase.FINISHING):
            assert sum(p == phase for p, _ in TABLE) == 1

    @pytest.mark.req("output-code-breaks")
    def test_a_reply_without_a_verdict_is_checked_again_or_cancelled(self) -> None:
        events = {event for phase, event in TABLE if phase is RunPhase.CHECKING}
        assert events == {ev.ReplyChecked, ev.RunResumed, ev.CancelRequested}


@pytest.mark.req("receipts-match-intents")
class TestReceipts:
    def begun(self) -> RunState:
        state, intents = reduce(RunState(), EVENTS[0])
        assert [intent.n for intent in intents] == [1]
        return state

    def responded(self, intent: int, *blocks: ToolUseBlock) -> ev.Event:
        return EVENTS[1].replace(intent=intent, blocks=blocks)

    def test_of_an_unknown_intent_is_refused(self) -> None:
        for intent in (0, 2, -1):
            with pytest.raises(InvariantError, match="not pending"):
                reduce(self.begun(), self.responded(intent))

    def test_of_the_same_intent_is_taken_once(self) -> None:
        state, _ = reduce(self.begun(), EVENTS[2])
        with pytest.raises(TransitionError):
            reduce(state, EVENTS[2])

    def test_of_another_kind_of_intent_is_refused(self) -> None:
        """A tool cannot answer for a call of another turn, nor for the model."""
        state, _ = reduce(
            self.begun(), self.responded(1, ToolUseBlock(id="a", name="x", arguments=""))
        )
        judged, _ = establish(state, JudgeCalls(n=2, turn=1), at=3)
        state, intents = reduce(state, judged)
        assert isinstance(intents[0], Generate), "the one call was unknown, so it is answered"
        with pytest.raises(TransitionError):
            reduce(state, EVENTS[5])

    def test_verdicts_must_be_those_of_the_calls(self) -> None:
        state, _ = reduce(
            self.begun(), self.responded(1, ToolUseBlock(id="a", name="x", arguments=""))
        )
        with pytest.raises(InvariantError, match="verdicts"):
            reduce(state, EVENTS[3])

    def test_nothing_is_refused_halfway(self) -> None:
        state = self.begun()
        before = state.digest
        with pytest.raises(InvariantError):
            reduce(state, self.responded(9))
        assert state.digest == before


@pytest.mark.req("reducer-pure")
class TestPure:
    def test_the_same_events_give_the_same_states(self) -> None:
        def final() -> str:
            state, _ = reduce(RunState(), EVENTS[0])
            state, intents = reduce(state, EVENTS[1])
            fact, _ = establish(state, intents[0], at=5)
            return reduce(state, fact)[0].digest

        assert final() == final()

    def test_time_does_not_turn_around(self) -> None:
        state, _ = reduce(RunState(), EVENTS[0].replace(at=1_000))
        state, _ = reduce(state, EVENTS[2].replace(at=10))
        assert state.now == 1_000

    def test_facts_of_the_world_are_not_made_up(self) -> None:
        state, intents = reduce(RunState(), EVENTS[0])
        with pytest.raises(InvariantError):
            establish(state, intents[0], at=5)

    def test_a_run_without_a_spec_cannot_be_asked_for_it(self) -> None:
        with pytest.raises(InvariantError):
            _ = RunState().run_spec

    def test_finish_is_established_with_its_bytes(self) -> None:
        state, _ = reduce(RunState(), EVENTS[0])
        fact, data = establish(state, Finish(n=9, reason="wall_limit"), at=5)
        assert isinstance(fact, ev.RunFinished) and data and b"time limit" in data


@pytest.mark.req("docs-run-states")
def test_the_docs_explain_every_phase() -> None:
    page = (DOCS / "concepts" / "run-states.md").read_text(encoding="utf-8")
    for phase in RunPhase:
        assert f"| `{phase}` |" in page

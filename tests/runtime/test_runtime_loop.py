"""The loop: what a run does with replies, calls and limits."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from artificer.core import events as ev
from artificer.core.kinds import KINDS
from artificer.core.policy import Policy, Rule
from artificer.core.price import Price
from artificer.core.spec import Limits
from artificer.core.state import RunPhase, RunState
from artificer.errors import AuthorError, OperatorError, ToolDefinitionError
from artificer.ports import Answer, Call, Question
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.approvers import Refuser
from artificer.runtime.watching.observe import Observer
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.blocks import (
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    ModelFailure,
    ModelReply,
    TextDelta,
    ToolChoice,
    Usage,
)
from artificer.values.strict_json import parse_object

INTEGER = {
    "type": "object",
    "properties": {"x": {"type": "integer", "minimum": 0}},
    "required": ["x"],
    "additionalProperties": False,
}


async def echo(call: Call) -> str:
    return f"x is {call.arguments['x']}"


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.tools.add("echo", echo, schema=INTEGER)
    return rig


def results(state: RunState) -> list[tuple[str, str]]:
    """Status and content of every result, in the order of the conversation."""
    return [
        (block.status, block.content)
        for message in state.history
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]


def statuses(state: RunState) -> list[str]:
    return [status for status, _ in results(state)]


def costly(tokens_in: int, tokens_out: int) -> ModelReply:
    """A reply that calls a tool, and what it cost."""
    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    return reply(call("echo", x=1)).replace(usage=usage)


async def finish(rig: Rig, *answers: ModelReply | ModelFailure, **facts: Any) -> RunState:
    """Run to the end, and hold what holds for every run."""
    provider = ScriptedProvider(list(answers))
    state = await rig.run(provider, **facts)
    for body in provider.requests:
        assert unpaired(messages_of(body)) == []
    assert unpaired(state.history) == []
    assert (await rig.replay()).identical
    return state


@pytest.mark.req("loop-answer")
class TestAnswers:
    async def test_text_is_the_answer(self, rig: Rig) -> None:
        state = await finish(rig, say("Forty-two."))
        assert (state.status, state.reason, state.narrative) == ("completed", "done", "Forty-two.")
        assert rig.deliverable(state).note == ""

    async def test_calls_are_answered_and_the_model_reads_it(self, rig: Rig) -> None:
        provider = ScriptedProvider([reply(call("echo", x=7)), say("Seven.")])
        state = await rig.run(provider)
        assert results(state) == [("ok", "x is 7")]
        answered = messages_of(provider.requests[1])[-1]
        assert isinstance(answered.blocks[0], ToolResultBlock)
        assert state.usage == Usage(input_tokens=20, output_tokens=10)

    async def test_calls_count_whatever_the_stop_reason_says(self, rig: Rig) -> None:
        """Some loops drop calls when the finish reason is "stop"."""
        state = await finish(rig, reply(call("echo", x=1), stop="end_turn"), say("One."))
        assert results(state) == [("ok", "x is 1")]

    async def test_empty_replies_are_asked_for_again_within_bounds(self, rig: Rig) -> None:
        empty = ModelReply(blocks=(), stop="end_turn")
        blank = say(" \n")
        thought = ModelReply(
            blocks=(ReasoningBlock(provider="scripted", data="{}"),), stop="end_turn"
        )
        state = await finish(rig, empty, blank, thought, say("Here."))
        assert (state.status, state.narrative, state.repairs) == ("completed", "Here.", 3)

    async def test_nothing_but_empty_replies_is_a_failure(self, rig: Rig) -> None:
        empty = ModelReply(blocks=(), stop="end_turn")
        state = await finish(rig, *[empty] * 5)
        assert (state.status, state.reason, state.turn) == ("failed", "empty_reply", 5)
        assert "no answer" in rig.deliverable(state).note

    async def test_a_refusal_ends_the_run_and_is_kept(self, rig: Rig) -> None:
        state = await finish(rig, say("I cannot help with that.", stop="refusal"))
        deliverable = rig.deliverable(state)
        assert (state.reason, deliverable.narrative) == ("refused", "I cannot help with that.")
        assert "declined" in deliverable.note
        assert deliverable.status == "partial"

    async def test_no_call_of_a_refusal_runs(self, rig: Rig) -> None:
        state = await finish(rig, reply(TextBlock(text="No."), call("echo", x=1), stop="refusal"))
        assert (state.reason, statuses(state), rig.tools.calls) == ("refused", ["invalid"], [])

    async def test_a_refusal_without_a_word_is_a_failure(self, rig: Rig) -> None:
        state = await finish(rig, ModelReply(blocks=(), stop="refusal"))
        assert (state.status, state.reason) == ("failed", "refused")

    async def test_an_answer_that_was_cut_off_is_partial(self, rig: Rig) -> None:
        state = await finish(rig, say("It was a dark and", stop="max_tokens"))
        assert (state.status, state.reason) == ("partial", "output_limit")
        assert "cut off" in rig.deliverable(state).note

    async def test_text_beside_calls_is_kept_for_the_end(self, rig: Rig) -> None:
        block = TextBlock(text="Let me see.")
        state = await finish(
            rig,
            reply(block, call("echo", x=1)),
            *[reply(call("echo", x=1))] * 2,
            limits=Limits(turns=3),
        )
        assert (state.status, rig.deliverable(state).narrative) == ("partial", "Let me see.")

    async def test_reasoning_goes_back_as_it_was(self, rig: Rig) -> None:
        thought = ReasoningBlock(provider="scripted", data='{"signature":"é😀"}', summary="hm")
        provider = ScriptedProvider([reply(thought, call("echo", x=1)), say("Done.")])
        await rig.run(provider)
        assert messages_of(provider.requests[1])[1].blocks[0] == thought

    async def test_tool_choice_goes_turn_by_turn(self, rig: Rig) -> None:
        provider = ScriptedProvider([reply(call("echo", x=1)), say("Done.")])
        choices = (ToolChoice(mode="tool", name="echo"), ToolChoice(mode="none"))
        await rig.run(provider, choices=choices)
        asked = [body["tool_choice"] for body in provider.requests]
        assert asked == [choice.to_json() for choice in choices]


@pytest.mark.req("reply-streamed")
async def test_an_observer_sees_the_reply_as_it_forms(rig: Rig) -> None:
    class Watcher(Observer):
        def __init__(self) -> None:
            self.seen: list[tuple[str, Delta]] = []

        def streamed(self, run: str, delta: Delta) -> None:
            self.seen.append((run, delta))

    watcher = Watcher()
    await replace(rig, observer=watcher).run([reply(call("echo", x=1)), say("Done.")])
    *pieces, answer = watcher.seen
    assert answer == ("run", TextDelta(text="Done."))
    assert all(run == "run" and isinstance(piece, ArgumentsDelta) for run, piece in pieces)
    assert parse_object("".join(piece.text for _, piece in pieces)) == {"x": 1}


@pytest.mark.req("loop-limits")
class TestLimits:
    def test_turn_caps_by_default(self) -> None:
        assert (KINDS["chat"].turns, KINDS["deliver"].turns) == (15, 24)
        assert Limits().turns == 15

    async def test_the_turn_cap_ends_the_run_with_what_there_is(self, rig: Rig) -> None:
        asked = [reply(TextBlock(text=f"Round {n}."), call("echo", x=n)) for n in range(15)]
        provider = ScriptedProvider([*asked, say("never")])
        state = await rig.run(provider)
        assert (len(provider.requests), provider.remaining) == (15, 1)
        deliverable = rig.deliverable(state)
        assert (deliverable.status, deliverable.narrative) == ("partial", "Round 14.")
        assert "turn limit" in deliverable.note
        assert statuses(state) == ["ok"] * 15, "calls of the last turn are answered too"

    async def test_tokens(self, rig: Rig) -> None:
        limits = Limits(total_tokens=2_500, max_tokens=100)
        state = await finish(rig, *[costly(500, 100)] * 5, limits=limits)
        assert (state.reason, state.turn) == ("token_limit", 3)
        assert "token limit" in rig.deliverable(state).note
        spent = state.usage.input_tokens + state.usage.output_tokens
        assert spent + 500 <= limits.total_tokens, "it stopped before, not after"

    async def test_cost_is_reserved_before_a_reply_is_asked_for(self, rig: Rig) -> None:
        price = Price(input=1_000_000, output=10_000_000)
        limits = Limits(cost_micros=9_000, max_tokens=400)
        provider = ScriptedProvider([costly(500, 100)] * 9)
        state = await rig.run(provider, limits=limits, price=price)
        assert state.reason == "cost_limit"
        assert "cost limit" in rig.deliverable(state).note
        assert state.cost_micros is not None and state.cost_micros <= limits.cost_micros
        asked = [body["max_tokens"] for body in provider.requests]
        assert asked[0] == 400 and asked[-1] < 400, "near the limit a shorter reply is asked for"
        assert min(asked) >= 256
        assert (await rig.replay()).identical

    async def test_wall_time(self, rig: Rig) -> None:
        async def slow(call: Call) -> str:
            rig.clock.time += 10_000
            return "late"

        rig.tools.add("slow", slow)
        state = await finish(rig, reply(call("slow")), limits=Limits(wall_ms=9_000))
        assert (state.reason, statuses(state)) == ("wall_limit", ["ok"])

    async def test_wall_time_does_not_count_from_a_clock_that_was_set_back(self, rig: Rig) -> None:
        stalled = await rig.run([ModelFailure(code="auth", message="no")])
        rig.clock.time -= 7_200_000
        state = await rig.resume([reply(call("echo", x=1)), say("Done.")])
        assert (stalled.phase, state.reason) == (RunPhase.STALLED, "done")

    async def test_calls_of_one_reply(self, rig: Rig) -> None:
        calls = [call("echo", x=n) for n in range(5)]
        state = await finish(rig, reply(*calls), say("Done."), limits=Limits(calls=3))
        assert statuses(state) == ["ok"] * 3 + ["invalid"] * 2
        assert "at most 3" in results(state)[4][1]

    async def test_repairs_zero_means_none(self, rig: Rig) -> None:
        state = await finish(rig, ModelReply(blocks=(), stop="end_turn"), limits=Limits(repairs=0))
        assert (state.turn, state.status) == (1, "failed")

    async def test_long_results_are_shown_in_part_and_kept_whole(self, rig: Rig) -> None:
        text = "é😀" * 30_000

        async def long(call: Call) -> str:
            return text

        rig.tools.add("long", long)
        state = await finish(
            rig, reply(call("long")), say("Long."), limits=Limits(result_chars=100)
        )
        ((_, content),) = results(state)
        assert len(content) < 300 and content.startswith("é😀") and "59900 characters" in content
        returned = [e for e in await rig.events() if isinstance(e, ev.ToolReturned)]
        assert returned[0].whole is not None and returned[0].whole in content
        assert rig.blobs.get(returned[0].whole).decode() == text

    def test_specs_that_could_not_be_run_are_refused(self, rig: Rig) -> None:
        for facts in ({"choices": ()}, {"temperature": "warm"}, {"temperature": "1e3"}):
            with pytest.raises(ValueError, match=next(iter(facts))):
                rig.spec(**facts)
        assert rig.spec(temperature="0.7").temperature == "0.7"


@pytest.mark.req("loop-duplicates")
class TestDuplicates:
    async def test_the_same_call_twice_in_a_turn_runs_once(self, rig: Rig) -> None:
        same = ToolUseBlock(id="", name="echo", arguments=' { "x" : 1.0 } ')
        state = await finish(rig, reply(call("echo", x=1), same, call("echo", x=2)), say("."))
        assert statuses(state) == ["ok", "duplicate", "ok"]
        assert [c.arguments for c in rig.tools.calls] == [{"x": 1}, {"x": 2}]

    @pytest.mark.parametrize("approved", [True, False])
    async def test_a_call_that_a_person_is_asked_about_is_asked_and_paid_once(
        self, rig: Rig, approved: bool
    ) -> None:
        asked: list[Question] = []

        class Person:
            async def ask(self, question: Question) -> Answer:
                asked.append(question)
                return Answer(approved, by="alice")

        rig.approver = Person()
        twice = reply(call("echo", x=1), call("echo", x=1))
        policy = Policy(rules=(Rule(decision="ask"),))
        state = await finish(rig, twice, say("."), policy=policy)
        assert statuses(state) == ["ok" if approved else "denied", "duplicate"]
        assert len(asked) == 1
        assert len(rig.tools.calls) == (1 if approved else 0)

    async def test_in_another_turn_it_runs_again(self, rig: Rig) -> None:
        state = await finish(rig, *[reply(call("echo", x=1))] * 2, say("."))
        assert statuses(state) == ["ok", "ok"]
        keys = [c.key for c in rig.tools.calls]
        assert len(set(keys)) == 2, "another call has another idempotency key"

    async def test_the_same_invalid_call_twice_is_told_twice(self, rig: Rig) -> None:
        state = await finish(rig, reply(call("echo", x=-1), call("echo", x=-1)), say("."))
        assert statuses(state) == ["invalid", "invalid"]


@pytest.mark.req("loop-hostile-calls")
class TestHostileCalls:
    async def test_unknown_tools_are_named_with_the_known_ones(self, rig: Rig) -> None:
        state = await finish(rig, reply(call("rm", x=1), call("ECHO", x=1)), say("."))
        assert statuses(state) == ["unknown_tool"] * 2
        assert "echo" in results(state)[0][1]

    @pytest.mark.parametrize(
        "arguments", ['{"x": 1', "[1]", '{"x": NaN}', '{"x": 1, "x": 2}', '{"x": "\ud800"}', "\x00"]
    )
    async def test_malformed_arguments_go_back_and_the_text_is_kept(
        self, rig: Rig, arguments: str
    ) -> None:
        bad = ToolUseBlock(id="a", name="echo", arguments=arguments)
        state = await finish(rig, reply(bad), say("."))
        assert statuses(state) == ["invalid"]
        assert rig.tools.calls == []
        assert state.history[1].calls[0] == bad
        answer = json.loads(results(state)[0][1])
        assert answer["problems"] and answer["ok"] is False

    async def test_all_problems_at_once_with_pointers(self, rig: Rig) -> None:
        state = await finish(rig, reply(call("echo", x="one", y=2, z=3)), say("."))
        answer = json.loads(results(state)[0][1])
        assert sorted(p["pointer"] for p in answer["problems"]) == ["/x", "/y", "/z"]

    @pytest.mark.parametrize(
        "ids",
        [
            ("a", "a", "a"),
            ("", "", ""),
            ("call_1_1", "", "call_1_1"),
            ("call_1_2", "call_1_1", ""),
            ("x" * 65, "é", "a b"),
        ],
    )
    async def test_every_call_gets_an_id_of_its_own(self, rig: Rig, ids: tuple[str, ...]) -> None:
        def calls() -> ModelReply:
            return reply(
                *(
                    ToolUseBlock(id=i, name="echo", arguments=f'{{"x":{n}}}')
                    for n, i in enumerate(ids)
                )
            )

        state = await finish(rig, calls(), calls(), say("."))
        assert [content for _, content in results(state)] == ["x is 0", "x is 1", "x is 2"] * 2

    async def test_no_call_of_a_cut_reply_runs(self, rig: Rig) -> None:
        """Servers report truncated calls as complete; one that parses by chance may be wrong."""
        cut = ModelReply(blocks=(call("echo", x=1), call("echo", x=12)), stop="max_tokens")
        state = await finish(rig, cut, say("Then not."))
        assert (statuses(state), rig.tools.calls) == (["invalid", "invalid"], [])
        assert "cut off" in results(state)[0][1]
        assert state.status == "completed"

    async def test_lone_surrogates_do_not_end_a_run(self, rig: Rig) -> None:
        odd = ToolUseBlock(id="\ud800", name="\udfff", arguments="\ud800")
        state = await finish(rig, reply(TextBlock(text="a\ud800"), odd), say("b\udfff"))
        assert (state.narrative, statuses(state)) == ("b\ufffd", ["unknown_tool"])

    async def test_an_error_whose_words_are_no_text_is_a_result(self, rig: Rig) -> None:
        async def broken(_: Call) -> str:
            raise OperatorError("no file caf\udce9")  # as a file name that is not UTF-8 reads

        rig.tools.add("broken", broken)
        state = await finish(rig, reply(call("broken")), say("Pity."))
        assert (statuses(state), state.status) == (["error"], "completed")
        assert "no file caf\ufffd" in results(state)[0][1]

    async def test_an_answer_and_a_reason_may_be_no_text(self, rig: Rig) -> None:
        class Odd:
            async def ask(self, question: Question) -> Answer:
                return Answer(False, by="odd", reason="no\ud800")

        rig.approver = Odd()
        state = await finish(rig, reply(call("echo", x=1)), say("."), policy=Policy(default="ask"))
        assert "no\ufffd" in results(state)[0][1]
        await rig.run([ModelFailure(code="unavailable", message="")], run="other")
        engine = rig.engine(ScriptedProvider([]))
        assert (await engine.cancel("other", "caf\udce9")).status == "cancelled"


@pytest.mark.req("loop-concurrency")
class TestConcurrency:
    async def test_results_stand_in_call_order_whichever_ends_first(self, rig: Rig) -> None:
        ended: list[int] = []
        gates = [asyncio.Event() for _ in range(4)]
        gates[3].set()

        async def chained(call: Call) -> str:
            number = int(str(call.arguments["n"]))
            await gates[number].wait()
            ended.append(number)
            if number:
                gates[number - 1].set()
            return f"result {number}"

        rig.tools.add("chained", chained)
        state = await finish(rig, reply(*(call("chained", n=n) for n in range(4))), say("."))
        assert ended == [3, 2, 1, 0]
        assert [content for _, content in results(state)] == [f"result {n}" for n in range(4)]

    async def test_no_more_at_once_than_allowed(self, rig: Rig) -> None:
        running, most = 0, 0

        async def counted(call: Call) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.002)
            running -= 1
            return "."

        rig.tools.add("counted", counted)
        calls = [call("counted", n=n) for n in range(12)]
        state = await finish(rig, reply(*calls), say("."), limits=Limits(concurrency=3))
        assert (most, statuses(state)) == (3, ["ok"] * 12)

    @pytest.mark.parametrize(
        "error",
        [
            ValueError("no"),
            TimeoutError("of a socket"),
            OperatorError("disk"),
            asyncio.CancelledError(),
            RecursionError(),
        ],
        ids=lambda error: type(error).__name__,
    )
    async def test_one_failing_call_never_loses_a_sibling(
        self, rig: Rig, error: BaseException
    ) -> None:
        async def broken(call: Call) -> str:
            raise error

        async def slow(call: Call) -> str:
            await asyncio.sleep(0.01)
            return "slow"

        rig.tools.add("broken", broken)
        rig.tools.add("slow", slow)
        calls = [call("echo", x=1), call("broken"), call("slow"), call("echo", x=2)]
        state = await finish(rig, reply(*calls), say("."))
        assert statuses(state) == ["ok", "error", "ok", "ok"]
        assert "did not end" not in results(state)[1][1], "it did not run out of time"

    async def test_a_tool_that_returns_no_receipt_is_broken_not_the_run(self, rig: Rig) -> None:
        async def silent(call: Call) -> Any:
            return None

        rig.tools.add("silent", silent)
        state = await finish(rig, reply(call("silent"), call("echo", x=1)), say("."))
        assert statuses(state) == ["error", "ok"]

    async def test_a_broken_approver_loses_no_result(self, rig: Rig) -> None:
        class Broken:
            async def ask(self, question: Question) -> Answer:
                raise OSError("the terminal is gone")

        rig.approver = Broken()
        policy = Policy(rules=(Rule(tool="echo", decision="allow"),), default="ask")
        rig.tools.add("other", echo)
        with pytest.raises(OSError, match="terminal"):
            await rig.run([reply(call("echo", x=1), call("other", x=2))], policy=policy)
        returned = [e for e in await rig.events() if isinstance(e, ev.ToolReturned)]
        assert [e.content for e in returned] == ["x is 1"]
        rig.approver = Refuser()
        state = await rig.resume([say("Then not.")])
        assert statuses(state) == ["ok", "denied"]


@pytest.mark.req("loop-timeout")
class TestTimeouts:
    async def test_a_call_that_does_not_end_is_ended(self, rig: Rig) -> None:
        ended = asyncio.Event()

        async def stuck(call: Call) -> str:
            try:
                await asyncio.sleep(3600)
            finally:
                ended.set()
            return "never"

        rig.tools.add("stuck", stuck, timeout_ms=20)
        script = [reply(call("stuck"), call("echo", x=1)), say(".")]
        engine = rig.engine(ScriptedProvider(script))
        engine.performer = structs.replace(engine.performer, grace_s=0.01)
        state = await engine.start("run", rig.spec())
        assert ended.is_set()
        assert statuses(state) == ["timeout", "ok"]
        assert "20 ms" in results(state)[0][1]


@pytest.mark.req("loop-policy")
class TestPolicy:
    class Person:
        def __init__(self, *answers: bool) -> None:
            self.answers = list(answers)
            self.questions: list[Question] = []

        async def ask(self, question: Question) -> Answer:
            self.questions.append(question)
            return Answer(self.answers.pop(0), by="alice", reason="because")

    ASK = Policy(rules=(Rule(tool="echo", decision="ask", reason="It costs money."),))

    async def test_denied_calls_do_not_run_and_say_why(self, rig: Rig) -> None:
        policy = Policy(rules=(Rule(tool="e*", decision="deny", reason="Not on Sundays."),))
        state = await finish(rig, reply(call("echo", x=1)), say("."), policy=policy)
        assert (statuses(state), rig.tools.calls) == (["denied"], [])
        assert "Not on Sundays." in results(state)[0][1]

    async def test_yes_and_no(self, rig: Rig) -> None:
        rig.approver = person = self.Person(True, False)
        calls = [call("echo", x=1), call("echo", x=2)]
        state = await finish(rig, reply(*calls), say("."), policy=self.ASK)
        assert statuses(state) == ["ok", "denied"]
        assert "because" in results(state)[1][1]
        assert [q.reason for q in person.questions] == ["It costs money."] * 2
        asked = [e for e in await rig.events() if isinstance(e, ev.ApprovalAnswered)]
        assert [(e.approved, e.by) for e in asked] == [(True, "alice"), (False, "alice")]

    async def test_the_question_is_bound_to_the_very_call(self, rig: Rig) -> None:
        rig.approver = person = self.Person(False, False)
        calls = [call("echo", x=1), call("echo", x=2)]
        await finish(rig, reply(*calls), say("."), policy=self.ASK)
        first, second = person.questions
        assert first.digest != second.digest
        assert parse_object(first.arguments) == {"x": 1}

    async def test_with_nobody_there_the_run_waits(self, rig: Rig) -> None:
        state = await rig.run([reply(call("echo", x=1))], policy=self.ASK)
        assert [p.type for p in state.pending] == ["AskApproval"]
        assert (state.status, rig.tools.calls) == (None, [])

    async def test_invalid_calls_are_not_asked_about(self, rig: Rig) -> None:
        rig.approver = person = self.Person()
        state = await finish(rig, reply(call("echo", x=-1)), say("."), policy=self.ASK)
        assert (statuses(state), person.questions) == (["invalid"], [])

    async def test_rules_go_in_order_by_name_and_risk(self, rig: Rig) -> None:
        rig.tools.add("danger", echo, risk="critical")
        policy = Policy(
            rules=(
                Rule(risk=("critical", "high"), decision="deny"),
                Rule(tool="danger", decision="allow"),
            )
        )
        state = await finish(
            rig, reply(call("danger", x=1), call("echo", x=1)), say("."), policy=policy
        )
        assert statuses(state) == ["denied", "ok"]


@pytest.mark.req("loop-stalled")
class TestFailures:
    STALLS = ("auth", "not_found", "overloaded", "rate_limited", "timeout", "unavailable")
    ENDS = ("bad_request", "context_overflow", "malformed_response", "stream_truncated")

    @pytest.mark.parametrize("code", STALLS)
    async def test_what_an_operator_can_mend_stalls_and_resumes(self, rig: Rig, code: Any) -> None:
        failure = ModelFailure(code=code, message="no")
        state = await rig.run([reply(call("echo", x=1)), failure])
        assert (state.phase, state.failure, state.turn) == (RunPhase.STALLED, code, 2)
        state = await rig.resume([failure])
        assert (state.phase, state.turn) == (RunPhase.STALLED, 2), "a failed turn is not used up"
        provider = ScriptedProvider([say("There.")])
        state = await rig.resume(provider)
        assert (state.status, state.narrative, state.failure) == ("completed", "There.", None)
        assert len(provider.requests) == 1 and len(rig.tools.calls) == 1
        assert (await rig.replay()).identical

    @pytest.mark.parametrize("code", ENDS)
    async def test_the_rest_ends_the_run_with_what_there_is(self, rig: Rig, code: Any) -> None:
        text = TextBlock(text="So far.")
        failure = ModelFailure(code=code, message="no")
        state = await finish(rig, reply(text, call("echo", x=1)), failure)
        assert (state.status, state.reason) == ("partial", "model_failed")
        assert rig.deliverable(state).narrative == "So far."

    async def test_a_stalled_run_can_be_cancelled(self, rig: Rig) -> None:
        provider = ScriptedProvider([ModelFailure(code="auth", message="no")])
        await rig.run(provider)
        state = await rig.engine(provider).cancel("run", "enough")
        assert (state.status, state.phase) == ("cancelled", RunPhase.FINISHED)

    async def test_a_finished_run_is_resumed_as_it_is(self, rig: Rig) -> None:
        state = await rig.run([say("Done.")])
        assert await rig.resume([]) == state

    async def test_a_provider_that_raises_leaves_a_run_to_resume(self, rig: Rig) -> None:
        with pytest.raises(AuthorError, match="has no reply"):
            await rig.run([reply(call("echo", x=1))])
        state = await rig.resume([say("Now.")])
        assert (state.narrative, len(rig.tools.calls)) == ("Now.", 1)

    async def test_a_run_id_that_is_taken_is_refused_and_nobody_is_fenced(self, rig: Rig) -> None:
        await rig.run([ModelFailure(code="auth", message="no")])
        (before,) = await rig.journal.runs()
        with pytest.raises(OperatorError, match="already"):
            await rig.run([say("Mine.")])
        assert await rig.journal.runs() == [before]

    def test_two_tools_cannot_share_a_name(self, rig: Rig) -> None:
        rig.tools.add("create_file", echo)
        with pytest.raises(ToolDefinitionError):
            rig.spec(kind="deliver")


@pytest.mark.req("loop-answer")
def test_the_check_of_pairs_finds_what_it_should() -> None:
    def answer(i: str) -> Message:
        block = ToolResultBlock(tool_use_id=i, status="ok", content="")
        return Message(role="user", blocks=(block,))

    def ask(i: str) -> Message:
        return Message(role="assistant", blocks=(ToolUseBlock(id=i, name="t", arguments=""),))

    assert unpaired([ask("a"), answer("a"), ask("b"), answer("b")]) == []
    assert unpaired([ask("a")]) and unpaired([answer("a")]) and unpaired([ask("a"), answer("b")])
    assert unpaired([ask("a"), answer("a"), ask("a"), answer("a")])


@pytest.mark.req("loop-limits")
async def test_a_failure_that_ends_a_run_is_named_in_what_it_delivers(rig: Rig) -> None:
    state = await rig.run([ModelFailure(code="context_overflow", message="too long")])
    deliverable = rig.deliverable(state)
    assert (state.reason, deliverable.status) == ("model_failed", "failed")
    assert deliverable.note == "The conversation is longer than the model can read."

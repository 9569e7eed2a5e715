"""Reports: which text is the report, and what is said after it does not destroy it."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.core import events as ev
from artificer.core.signals import FollowUp, Interrupt, Steer
from artificer.core.spec import Limits
from artificer.core.state import RunState
from artificer.ports import Call
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.fork import ForkChanges, origin_of, plan_fork
from artificer.runtime.load import load
from artificer.testing.rig import Rig, messages_of, unpaired
from artificer.values.base import Value
from artificer.values.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from artificer.values.model import ModelFailure, ModelReply

PROSE = "The first paragraph says what was found, and the second one says why it matters. " * 3
REPORT = f"# Costs\n\n{PROSE}\n\n{{{{artifact:list:a}}}}\n\nThat is all."


@pytest.fixture
def rig() -> Rig:
    return Rig()


def make(name: str, *items: str, **facts: object) -> ToolUseBlock:
    listed = list(items) or ["one"]
    return call("create_list", list={"kind": "list", "id": name, "items": listed}, **facts)


def withdraw(name: str) -> ToolUseBlock:
    return call("withdraw_artifact", kind="list", id=name)


def both(text: str, *calls: ToolUseBlock) -> ModelReply:
    return reply(TextBlock(text=text), *calls)


def cites(*names: str) -> str:
    return "\n\n".join(f"{{{{artifact:list:{name}}}}}" for name in names)


async def deliver(rig: Rig, *answers: ModelReply | ModelFailure, **facts: Any) -> RunState:
    facts = {"limits": Limits(turns=24), **facts}
    return await checked(rig, ScriptedProvider(list(answers)), None, **facts)


async def follow(rig: Rig, text: str, *answers: ModelReply | ModelFailure) -> RunState:
    """Ask for more in the finished run."""
    return await checked(rig, ScriptedProvider(list(answers)), text)


async def checked(rig: Rig, provider: ScriptedProvider, text: str | None, **facts: Any) -> RunState:
    engine = rig.engine(provider)
    if text is None:
        state = await engine.start("run", rig.spec(**{"kind": "deliver", **facts}))
    else:
        await engine.signals.post("run", FollowUp(text=text).canonical())
        state = await engine.resume("run")
    assert provider.remaining == 0, "every answer of the script was asked for"
    for body in provider.requests:
        assert unpaired(messages_of(body)) == []
    replayed = await rig.replay()
    assert replayed.identical and replayed.drift == []
    return state


def outcome(rig: Rig, state: RunState) -> tuple[str, str, str]:
    delivered = rig.deliverable(state)
    return delivered.status, delivered.narrative, delivered.message


async def requests(rig: Rig) -> list[str]:
    """Return the requests for corrections, round by round."""
    checks = [event for event in await rig.events() if isinstance(event, ev.ReplyChecked)]
    return [check.request for check in checks if check.request is not None]


@pytest.mark.req("report-beside-calls")
class TestTextNextToCalls:
    async def test_a_report_next_to_calls_is_the_report(self, rig: Rig) -> None:
        state = await deliver(rig, both(REPORT, make("a")), say("Done. Anything else?"))
        assert outcome(rig, state) == ("completed", REPORT, "Done. Anything else?")
        assert state.repairs == 0

    async def test_it_is_kept_in_a_later_turn_too(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            both("I begin.", make("x")),
            both(REPORT, make("a")),
            reply(make("b")),
            say("Done."),
        )
        assert outcome(rig, state)[:2] == ("completed", REPORT)

    async def test_one_that_was_written_in_pieces_is_joined(self, rig: Rig) -> None:
        first, second = f"# Costs\n\n{PROSE}{cites('a')}", f"## Then\n\n{PROSE}{cites('b')}"
        state = await deliver(
            rig, both(first, make("a")), both("Next.", make("c")), both(second, make("b")),
            say("Done."),
        )  # fmt: skip
        assert outcome(rig, state)[1] == f"{first}\n\n{second}"

    async def test_a_later_version_next_to_calls_replaces_an_earlier_one(self, rig: Rig) -> None:
        better = f"{REPORT}\n\n{cites('b')}"
        state = await deliver(rig, both(REPORT, make("a")), both(better, make("b")), say("Done."))
        assert outcome(rig, state)[1] == better

    async def test_the_last_reply_is_the_report_when_it_drops_nothing(self, rig: Rig) -> None:
        state = await deliver(rig, both("I make {{artifact:list:a}}.", make("a")), say(REPORT))
        assert outcome(rig, state) == ("completed", REPORT, "")

    async def test_talk_about_what_was_never_made_binds_nobody(self, rig: Rig) -> None:
        plan = "I will make {{artifact:list:nope}} first, and then the rest of it."
        state = await deliver(rig, both(plan, make("a")), say(REPORT))
        assert outcome(rig, state) == ("completed", REPORT, "")

    async def test_a_report_whose_artifact_was_refused_is_kept_and_repaired(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            both(REPORT, call("create_list", list={"kind": "list", "id": "a", "items": []})),
            say("Done."),
            reply(make("a")),
            say("Made it."),
        )
        assert outcome(rig, state) == ("completed", REPORT, "Done.")

    async def test_a_long_last_reply_that_drops_a_citation_is_asked_about(self, rig: Rig) -> None:
        state = await deliver(
            rig, both(REPORT, make("a")), say(PROSE), say(f"{PROSE}\n\n{cites('a')}")
        )
        (request,) = await requests(rig)
        assert "does not" not in request and "no longer cites list:a" in request
        assert "{{artifact:list:a}}" in request and "withdraw_artifact" in request
        assert outcome(rig, state) == ("completed", f"{PROSE}\n\n{cites('a')}", "")

    async def test_a_mention_of_the_artifact_is_no_report(self, rig: Rig) -> None:
        goodbye = "The report with {{artifact:list:a}} is ready."
        state = await deliver(rig, both(REPORT, make("a")), say(goodbye))
        assert outcome(rig, state) == ("completed", REPORT, goodbye)

    async def test_a_chat_ends_with_its_last_reply(self, rig: Rig) -> None:
        async def note(_: Call) -> str:
            return "noted"

        rig.tools.add("note", note)
        text = f"{PROSE} {{{{artifact:list:a}}}}"
        state = await deliver(rig, both(text, call("note")), say("Done."), kind="chat")
        assert outcome(rig, state) == ("completed", "Done.", "")
        state = await follow(rig, "And?", say("Yes."))
        assert outcome(rig, state) == ("completed", "Yes.", "")

    async def test_a_run_of_older_rules_is_as_it_was(self, rig: Rig) -> None:
        state = await deliver(rig, both(REPORT, make("a")), say("Done."), rules=1)
        assert outcome(rig, state) == ("completed", "Done.", "")
        state = await follow(rig, "And?", say("Yes."))
        assert outcome(rig, state) == ("completed", "Yes.", "")


@pytest.mark.req("report-early-end")
class TestEarlyEnds:
    @pytest.mark.parametrize("end", ["turns", "model"])
    async def test_the_best_text_is_delivered(self, rig: Rig, end: str) -> None:
        more: list[ModelReply | ModelFailure] = [both("Now the next one.", make("b"))]
        if end == "model":
            more.append(ModelFailure(code="bad_request", message="no"))
        turns = 2 if end == "turns" else 24
        state = await deliver(rig, both(REPORT, make("a")), *more, limits=Limits(turns=turns))
        assert outcome(rig, state)[:2] == ("partial", REPORT)

    async def test_interrupting_keeps_it_too(self, rig: Rig) -> None:
        script = [both(REPORT, make("a")), both("Now the next one.", make("b"))]
        state = await spoken_to(rig, script, turn=2, signal=Interrupt())
        assert outcome(rig, state)[:2] == ("cancelled", REPORT)
        assert [ref.id for ref in state.artifacts] == ["a"]

    async def test_what_a_follow_up_left_half_done_keeps_the_report(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        state = await follow(
            rig, "More.", both("I look.", make("b")), ModelFailure(code="bad_request", message="no")
        )
        assert outcome(rig, state)[:2] == ("partial", REPORT)
        state = await follow(rig, "Thanks.", say("You are welcome."))
        assert outcome(rig, state) == ("completed", REPORT, "You are welcome.")

    async def test_a_text_that_was_not_weighed_may_be_the_report_of_the_next_prompt(
        self, rig: Rig
    ) -> None:
        await deliver(rig, both(REPORT, make("a")), ModelFailure(code="bad_request", message="no"))
        state = await follow(rig, "Go on.", say("It was done already."))
        assert outcome(rig, state) == ("completed", REPORT, "It was done already.")

    async def test_a_refusal_after_a_report_is_a_message(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        state = await follow(rig, "Worse.", say("I cannot do that.", stop="refusal"))
        assert outcome(rig, state) == ("partial", REPORT, "I cannot do that.")


@pytest.mark.req("report-follow-up")
class TestFollowUps:
    async def test_an_answer_that_is_sent_again_as_it_was_is_a_message(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        answer = "The list has one entry, and that is all there is to say about it here. " * 3
        state = await follow(rig, "How many entries?", say(answer), say(answer))
        assert outcome(rig, state) == ("completed", REPORT, answer)
        assert (state.repairs, rig.deliverable(state).note) == (1, "")
        titled = f"# New\n\n{answer}"
        state = await follow(rig, "Rewrite it.", *[say(titled)] * (1 + Limits().repairs))
        assert outcome(rig, state) == ("completed", REPORT, titled)
        assert rig.deliverable(state).note

    async def test_a_sentence_is_a_message_and_the_replaced_list_is_shown(self, rig: Rig) -> None:
        before = await deliver(rig, reply(make("a", "one")), say(REPORT))
        state = await follow(
            rig, "Make it two.", reply(make("a", "two", replace=True)), say("I replaced the item.")
        )
        assert outcome(rig, state) == ("completed", REPORT, "I replaced the item.")
        assert state.artifacts[0].payload != before.artifacts[0].payload
        assert state.repairs == 0

    async def test_a_message_belongs_to_its_own_follow_up(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        await follow(rig, "Why?", say("Because."))
        longer = f"{REPORT}\n\nBecause of that."
        state = await follow(rig, "Say so.", say(longer))
        assert outcome(rig, state) == ("completed", longer, "")

    async def test_a_report_that_keeps_the_citations_replaces_it(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        other = f"# Other\n\n{PROSE}\n\n{cites('a', 'b')}"
        state = await follow(rig, "Add b.", reply(make("b")), say(other))
        assert outcome(rig, state) == ("completed", other, "")

    async def test_a_new_report_counts_once_the_old_artifacts_are_withdrawn(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        new = f"# New\n\n{PROSE}\n\n{cites('b')}"
        state = await follow(
            rig, "Begin again.", reply(make("b")), say(new), reply(withdraw("a")), say("Done.")
        )
        (request,) = await requests(rig)
        assert "{{artifact:list:a}}" in request and "withdraw_artifact" in request
        assert outcome(rig, state) == ("completed", new, "")
        assert [ref.id for ref in state.artifacts] == ["b"]

    async def test_withdrawing_first_needs_no_repair(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        new = f"# New\n\n{PROSE}\n\n{cites('b')}"
        state = await follow(rig, "Begin again.", reply(withdraw("a"), make("b")), say(new))
        assert outcome(rig, state) == ("completed", new, "")
        assert state.repairs == 0

    async def test_a_report_that_drops_a_citation_is_sent_back_and_never_lost(
        self, rig: Rig
    ) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        state = await follow(rig, "Again.", *[say(f"{PROSE} {n}.") for n in range(5)])
        assert outcome(rig, state) == ("completed", REPORT, f"{PROSE} 4.")
        assert state.reason == "repair_limit"
        told = await requests(rig)
        assert len(told) == 5 and len(set(told[:4])) == 4, "no request is like another"

    async def test_a_short_report_is_asked_about_and_then_believed(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        short = f"Short.\n\n{cites('a')}"
        state = await follow(rig, "One line only.", say(short), say(short))
        (request,) = await requests(rig)
        assert "characters where the kept one has" in request
        assert outcome(rig, state) == ("completed", short, "")

    async def test_a_text_that_cites_what_was_withdrawn_dangles(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        state = await follow(rig, "Without a.", reply(withdraw("a")), say("Gone."), say(PROSE))
        (request,) = await requests(rig)
        assert "list:a: was withdrawn" in request and "create_list" not in request
        assert outcome(rig, state) == ("completed", PROSE, "")

    async def test_a_text_that_goes_on_citing_it_is_partial(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        state = await follow(rig, "Without a.", reply(withdraw("a")), *[say("Gone.")] * 5)
        assert outcome(rig, state) == ("partial", REPORT, "Gone.")

    async def test_what_is_made_again_is_to_be_cited_again(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        state = await follow(
            rig, "Another a.", reply(withdraw("a")), reply(make("a", "new")), say("There it is.")
        )
        assert outcome(rig, state) == ("completed", REPORT, "There it is.")
        assert state.withdrawn == ()

    async def test_a_note_to_a_finished_answer_keeps_the_report(self, rig: Rig) -> None:
        script = [reply(make("a")), say(REPORT), say("Yes, that is all.")]
        state = await steered(rig, script, turn=2, words="Is that all?")
        assert outcome(rig, state) == ("completed", REPORT, "Yes, that is all.")

    async def test_a_note_to_a_text_that_was_cut_is_answered_first(self, rig: Rig) -> None:
        script = [reply(make("a")), say(REPORT[:-9], stop="max_tokens"), say(REPORT)]
        state = await steered(rig, script, turn=2, words="Faster.", continuations=3)
        assert outcome(rig, state) == ("completed", REPORT, "")
        assert state.continuations == 0

    async def test_a_note_ends_the_talk_about_repairs(self, rig: Rig) -> None:
        script = [
            reply(make("a")),
            say(f"{REPORT} {{{{artifact:list:b}}}}"),
            reply(make("b")),
            say("I made it. And you are welcome."),
        ]
        state = await steered(rig, script, turn=3, words="Thanks.")
        assert outcome(rig, state)[2] == "I made it. And you are welcome."

    async def test_a_fork_that_is_steered_answers_a_person(self, rig: Rig) -> None:
        await deliver(rig, reply(make("a")), say(REPORT))
        await follow(rig, "Again.", *[say(f"{PROSE} {n}.") for n in range(5)])
        loaded = await load(rig.journal, rig.blobs, "run")
        spec = loaded.state.run_spec
        plan = plan_fork(loaded.lines, ForkChanges(None, None, "Leave it."), spec)
        origin = await origin_of(rig.journal, "run", plan, spec, spec)
        forked = ev.RunForked(at=rig.clock.now(), origin=origin, steer="Leave it.")
        engine = rig.engine(ScriptedProvider([say("It stays as it is.")]))
        state = await engine.fork("other", plan.facts, forked)
        assert outcome(rig, state) == ("completed", REPORT, "It stays as it is.")
        assert (await rig.replay(run="other")).identical


async def steered(
    rig: Rig, script: list[ModelReply], *, turn: int, words: str, **limits: Any
) -> RunState:
    """Run a script. While the model writes its reply of ``turn``, a person says something."""
    state = await spoken_to(rig, script, turn=turn, signal=Steer(text=words), **limits)
    assert any(isinstance(event, ev.Steered) for event in await rig.events())
    return state


async def spoken_to(
    rig: Rig, script: list[ModelReply], *, turn: int, signal: Value, **limits: Any
) -> RunState:
    """Run a script. While the model writes its reply of ``turn``, a signal comes."""

    async def answer(body: Any) -> ModelReply:
        if len(provider.requests) == turn:
            await engine.signals.post("run", signal.canonical())
        return script.pop(0)

    provider = Told(answer)
    engine = rig.engine(provider)
    spec = rig.spec(kind="deliver", limits=Limits(turns=24, **limits))
    state = await engine.start("run", spec)
    assert script == []
    assert (await rig.replay()).identical
    return state


class Told(ScriptedProvider):
    """A model that lets something happen before it answers."""

    def __init__(self, answer: Any) -> None:
        super().__init__([])
        self._answer = answer

    async def generate(self, payload: Any, on_delta: Any) -> ModelReply | ModelFailure:
        self.requests.append(payload.body)
        answered: ModelReply = await self._answer(payload.body)
        return answered


@pytest.mark.req("report-uncited")
class TestUncited:
    async def test_done_while_nothing_is_cited_goes_back(self, rig: Rig) -> None:
        state = await deliver(
            rig, reply(make("a"), make("b")), say("Done."), say(f"{REPORT}\n\n{cites('b')}")
        )
        (request,) = await requests(rig)
        assert "{{artifact:list:a}}" in request and "{{artifact:list:b}}" in request
        assert outcome(rig, state)[0] == "completed"

    async def test_what_stays_uncited_is_partial_and_nothing_is_lost(self, rig: Rig) -> None:
        state = await deliver(rig, reply(make("a")), *[say(f"Done {n}.") for n in range(5)])
        delivered = rig.deliverable(state)
        assert (delivered.status, delivered.narrative) == ("partial", "Done 4.")
        assert [finding.code for finding in delivered.findings] == ["unreferenced"]
        assert [ref.id for ref in delivered.artifacts] == ["a"]
        told = await requests(rig)
        assert len(told) == 5 and len(set(told[:4])) == 4

    async def test_one_citation_is_enough(self, rig: Rig) -> None:
        state = await deliver(rig, reply(make("a"), make("b")), say(REPORT))
        assert outcome(rig, state) == ("completed", REPORT, "")
        assert state.repairs == 0


@pytest.mark.req("report-fence")
class TestFences:
    @pytest.mark.parametrize(
        "wrapped",
        [
            f"```markdown\n{REPORT}\n```",
            f"```\n{REPORT}\n```\n",
            f"~~~md\n{REPORT}\n~~~",
            f"```markdown\n{REPORT}",
            f"Here is the report:\n\n```markdown\n{REPORT}\n```\n\nAnything else?",
        ],
    )
    async def test_a_report_in_one_fence_is_taken_out(self, rig: Rig, wrapped: str) -> None:
        state = await deliver(rig, reply(make("a")), say(wrapped))
        assert outcome(rig, state) == ("completed", REPORT, "")
        (check,) = [e for e in await rig.events() if isinstance(e, ev.ReplyChecked)]
        assert check.unwrapped and check.narrative == REPORT

    async def test_next_to_calls_too(self, rig: Rig) -> None:
        state = await deliver(rig, both(f"```markdown\n{REPORT}\n```", make("a")), say("Done."))
        assert outcome(rig, state) == ("completed", REPORT, "Done.")

    async def test_a_report_that_shows_code_is_left_alone(self, rig: Rig) -> None:
        text = f"{REPORT}\n\n```python\nprint(1)\n```"
        state = await deliver(rig, reply(make("a")), say(text))
        (check,) = [e for e in await rig.events() if isinstance(e, ev.ReplyChecked)]
        assert outcome(rig, state)[1] == text and not check.unwrapped


@pytest.mark.req("report-continued")
class TestCutOff:
    LIMITS = Limits(turns=24, continuations=3)

    async def test_the_rest_is_asked_for_and_joined(self, rig: Rig) -> None:
        middle, end = len(REPORT) // 3, 2 * len(REPORT) // 3
        parts = REPORT[:middle], REPORT[middle:end], REPORT[end:]
        state = await deliver(
            rig,
            reply(make("a")),
            say(parts[0], stop="max_tokens"),
            say(parts[1], stop="max_tokens"),
            say(parts[2]),
            limits=self.LIMITS,
        )
        assert outcome(rig, state) == ("completed", REPORT, "")
        assert (state.continuations, state.repairs, state.unfinished) == (2, 0, "")
        told = await requests(rig)
        assert all("cut off" in text for text in told)
        assert told[0].endswith(parts[0]) and told[1].endswith((parts[0] + parts[1])[-200:])

    async def test_a_continuation_is_text_and_calls_no_tool(self, rig: Rig) -> None:
        provider = ScriptedProvider(
            [reply(make("a")), say(REPORT[:200], stop="max_tokens"), say(REPORT[200:])]
        )
        await rig.run(provider, kind="deliver", limits=self.LIMITS)
        choices: list[Any] = [body["tool_choice"] for body in provider.requests]
        assert [choice["mode"] for choice in choices] == ["auto", "auto", "none"]

    async def test_a_model_that_calls_all_the_same_loses_nothing(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            say(REPORT[:200], stop="max_tokens"),
            both(REPORT[200:], make("a")),
            say("Done."),
            limits=self.LIMITS,
        )
        assert outcome(rig, state) == ("completed", REPORT, "Done.")

    async def test_what_the_rest_repeats_stands_there_once(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            reply(make("a")),
            say(f"{REPORT} This was cut off in the middle of its last sen", stop="max_tokens"),
            say("This was cut off in the middle of its last sentence."),
            limits=self.LIMITS,
        )
        whole = f"{REPORT} This was cut off in the middle of its last sentence."
        assert outcome(rig, state) == ("completed", whole, "")

    async def test_it_ends_after_so_many_and_keeps_all_there_is(self, rig: Rig) -> None:
        parts = [f"Part {n}. {'word ' * 40}{cites('a')}\n\n" for n in range(4)]
        cut = [say(part, stop="max_tokens") for part in parts]
        state = await deliver(rig, reply(make("a")), *cut, limits=self.LIMITS)
        assert (state.status, state.reason) == ("partial", "output_limit")
        assert outcome(rig, state)[1] == "".join(parts)

    async def test_a_reply_that_does_not_grow_is_not_asked_again(self, rig: Rig) -> None:
        cut = [say(REPORT[:200], stop="max_tokens"), say("", stop="max_tokens")]
        state = await deliver(rig, *cut, limits=self.LIMITS)
        assert (state.continuations, state.reason) == (1, "output_limit")

    async def test_a_run_that_ends_meanwhile_delivers_the_beginning(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            reply(make("a")),
            say(REPORT[:-10], stop="max_tokens"),
            ModelFailure(code="bad_request", message="no"),
            limits=self.LIMITS,
        )
        assert outcome(rig, state)[:2] == ("partial", REPORT[:-10])

    async def test_without_continuations_it_is_as_it_was(self, rig: Rig) -> None:
        state = await deliver(rig, reply(make("a")), say(REPORT[:-10], stop="max_tokens"))
        assert (state.status, state.reason) == ("partial", "output_limit")

    async def test_a_call_that_was_cut_off_is_told_the_limit_and_what_to_do(self, rig: Rig) -> None:
        state = await deliver(
            rig,
            reply(make("a"), make("b"), stop="max_tokens"),
            reply(make("a")),
            say(REPORT),
            limits=Limits(turns=24, max_tokens=1234),
        )
        results = [b for m in state.history for b in m.blocks if isinstance(b, ToolResultBlock)]
        assert [result.status for result in results] == ["invalid", "invalid", "ok"]
        assert "fewer calls" in results[0].content
        assert "1234 tokens" in results[1].content and "divide" in results[1].content


@pytest.mark.req("deliver-status")
async def test_a_run_that_never_says_anything_gave_no_answer(rig: Rig) -> None:
    silent = [reply(stop="end_turn") for _ in range(3)]
    state = await deliver(rig, *silent, limits=Limits(turns=24, repairs=2))
    assert (state.reason, state.status) == ("empty_reply", "failed")

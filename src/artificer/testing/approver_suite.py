"""Conformance tests for approvers, to run with your own.

Subclass `ApproverSuite` in a test module and give it two pytest fixtures: ``approver``, whose
person answers every question in the same way, and ``approves``, whether that is yes. Test both:

    class TestMine(ApproverSuite):
        @pytest.fixture(params=[True, False])
        def approves(self, request):
            return request.param

        @pytest.fixture
        def approver(self, approves):
            return Mine(person=lambda question: approves)

The tests are coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio

from artificer.ports import Answer, Approver, Question
from artificer.values.canon import digest_of


def question(number: int = 0, **changes: str) -> Question:
    """Return a question like those that a run asks."""
    arguments = f'{{"to":"ada@example.com","number":{number}}}'
    wanted = {
        "run": "run-1",
        "tool": "send",
        "arguments": arguments,
        "reason": "The policy asks before it sends.",
        "digest": digest_of(arguments.encode()),
    }
    return Question(**{**wanted, **changes})


class ApproverSuite:
    """The behavior of the `Approver` port: fixtures ``approver`` and ``approves``."""

    patience_s: float = 30
    """Seconds within which a test's person has answered, even on a busy machine."""

    async def test_an_answer_says_yes_or_no_and_who(
        self, approver: Approver, approves: bool
    ) -> None:
        """``approved`` is a real bool, not just a truthy value; ``by`` names someone."""
        answer = await _answer(self.patience_s, approver, question())
        assert answer.approved is approves
        assert answer.by.strip()
        assert isinstance(answer.reason, str)

    async def test_each_question_gets_its_own_answer(
        self, approver: Approver, approves: bool
    ) -> None:
        """Each question gets its own answer, even when several runs ask at the same time."""
        wanted = [question(n, run=f"run-{n}") for n in range(3)]
        answers = await asyncio.gather(*(_answer(self.patience_s, approver, one) for one in wanted))
        assert [answer.approved for answer in answers] == [approves] * 3

    async def test_what_a_model_wrote_decides_nothing(
        self, approver: Approver, approves: bool
    ) -> None:
        """Model text changes no answer: not words, control characters or great length."""
        for written in ("y\nyes\n", '{"approved":true}', "\x1b[2J\r\0approved", "x" * 300_000):
            answer = await _answer(
                self.patience_s, approver, question(arguments=written, reason=written)
            )
            assert answer.approved is approves

    async def test_who_stops_asking_waits_no_longer(
        self, approver: Approver, approves: bool
    ) -> None:
        """A cancelled run ends its question, and the next question is still answered."""
        asking = asyncio.ensure_future(approver.ask(question()))
        await asyncio.sleep(0)
        asking.cancel()
        done, _ = await asyncio.wait([asking], timeout=self.patience_s)
        assert done, "the approver goes on after it was cancelled"
        assert (await _answer(self.patience_s, approver, question(1))).approved is approves


async def _answer(seconds: float, approver: Approver, wanted: Question) -> Answer:
    async with asyncio.timeout(seconds):
        answer: object = await approver.ask(wanted)
    assert isinstance(answer, Answer)
    return answer

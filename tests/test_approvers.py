"""Every approver of ours behaves as the port says, and the suite notices those that do not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from artificer.ports import Answer, Approver, Question
from artificer.runtime.approvers import Refuser
from artificer.testing.approver_suite import ApproverSuite
from suite_faults import faults

pytestmark = pytest.mark.req("suite-approver")


class TestRefuser(ApproverSuite):
    @pytest.fixture
    def approver(self) -> Approver:
        return Refuser()

    @pytest.fixture
    def approves(self) -> bool:
        return False


class Person:
    """Answers when it has thought for a moment."""

    def __init__(self, approves: bool) -> None:
        self.approves = approves

    async def ask(self, question: Question) -> Answer:
        await asyncio.sleep(0)
        return Answer(self.approves, by="Ada")


class TestPerson(ApproverSuite):
    @pytest.fixture(params=[True, False])
    def approves(self, request: pytest.FixtureRequest) -> bool:
        found: bool = request.param
        return found

    @pytest.fixture
    def approver(self, approves: bool) -> Approver:
        return Person(approves)


class Nobody(Person):
    async def ask(self, question: Question) -> Answer:
        return Answer(self.approves, by="")


class Truthy(Person):
    async def ask(self, question: Question) -> Answer:
        wrong: Any = "no"
        return Answer(wrong, by="Ada")


class Reader(Person):
    """It takes an answer from what the model wrote."""

    async def ask(self, question: Question) -> Answer:
        return Answer("yes" in question.arguments or self.approves, by="Ada")


class OneAtATime(Person):
    """It forgets a question when the next one comes."""

    waiting: asyncio.Future[Answer] | None = None

    async def ask(self, question: Question) -> Answer:
        if self.waiting is not None:
            self.waiting = asyncio.get_running_loop().create_future()
            return await self.waiting
        self.waiting = asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        self.waiting = None
        return Answer(self.approves, by="Ada")


class Deaf(Person):
    """It goes on after it was cancelled."""

    async def ask(self, question: Question) -> Answer:
        for _ in range(100):
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        return Answer(self.approves, by="Ada")


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        (Nobody, "test_an_answer_says_yes_or_no_and_who"),
        (Truthy, "test_an_answer_says_yes_or_no_and_who"),
        (Reader, "test_what_a_model_wrote_decides_nothing"),
        (OneAtATime, "test_each_question_gets_its_own_answer"),
        (Deaf, "test_who_stops_asking_waits_no_longer"),
    ],
)
async def test_a_wrong_approver_is_noticed(wrong: Any, noticed_by: str) -> None:
    found = await faults(
        ApproverSuite, noticed_by, approver=lambda: wrong(approves=False), approves=lambda: False
    )
    assert found == {noticed_by}

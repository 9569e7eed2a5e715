"""Limits of tools, of a run's time, and of a world's spending in a day."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from test_runtime_snapshot import commits, prefix, same

from artificer.core import events as ev
from artificer.core.price import Price
from artificer.core.record import EventLine, IntentLine
from artificer.core.spec import Limits
from artificer.core.state import RunState
from artificer.errors import BudgetError, Fenced
from artificer.ports import (
    Amount,
    Answer,
    Call,
    Head,
    Permit,
    Question,
    Record,
    Reservation,
    SharedLimit,
    Spending,
    SpendingLimit,
)
from artificer.providers.mapping import MAX_COUNT, count_of
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.engine import Engine
from artificer.runtime.limits.accounts import EXPIRES_MS, Account, Charges, RequestSize
from artificer.runtime.limits.budgets import Budgets
from artificer.runtime.limits.permits import PermitKeeper
from artificer.runtime.limits.request_permits import RequestPermits
from artificer.runtime.load import load
from artificer.runtime.snapshot import keep, restore
from artificer.runtime.watching.observe import Observer
from artificer.storage.memory import MemoryBudget, MemoryJournal, MemorySnapshots
from artificer.storage.memory.permits import MemoryPermits
from artificer.system.utc import utc_day
from artificer.testing.rig import Rig, SteppingClock
from artificer.values.canon import canonical
from artificer.values.model import FailureCode, ModelFailure, ModelReply, RetryDelta, Usage
from artificer.values.tokens import tokens_of


@pytest.fixture
def rig() -> Rig:
    async def read(call: Call) -> str:
        return "x" * 1_000

    rig = Rig()
    rig.tools.add("read", read)
    return rig


async def proven(rig: Rig) -> None:
    replayed = await rig.replay()
    assert replayed.divergence is None and not replayed.drift


def reading(turns: int) -> list[ModelReply]:
    return [*(reply(call("read", n=n)) for n in range(turns)), say("Done.")]


@pytest.mark.req("limit-tool-output")
class TestOutput:
    async def test_a_run_ends_when_its_tools_have_brought_enough(self, rig: Rig) -> None:
        state = await rig.run(list(reading(9)), limits=Limits(output_chars=2_500))
        assert (state.reason, state.output_chars) == ("tool_output_limit", 3_000)
        assert "as much text as they may" in rig.deliverable(state).note
        await proven(rig)

    async def test_what_is_shown_counts_not_what_there_was(self, rig: Rig) -> None:
        limits = Limits(output_chars=2_500, result_chars=100)
        state = await rig.run(list(reading(9)), limits=limits)
        assert state.reason == "done" and 900 < state.output_chars < 2_500

    async def test_without_a_limit_nothing_is_counted(self, rig: Rig) -> None:
        """So that runs of earlier releases come to the states that they recorded."""
        state = await rig.run(list(reading(2)))
        assert (state.output_chars, state.tool_ms) == (0, 0)


@pytest.mark.req("limit-tool-time")
class TestToolTime:
    async def test_the_durations_of_all_calls_are_added_up(self, rig: Rig) -> None:
        state = await rig.run(list(reading(3)), limits=Limits(tool_ms=3_600_000))
        returned = [e for e in await rig.events() if isinstance(e, ev.ToolReturned)]
        assert state.tool_ms == sum(e.duration_ms for e in returned)
        await proven(rig)

    async def test_a_call_is_cut_off_at_what_is_left(self, rig: Rig) -> None:
        given: list[int] = []

        async def slow(call: Call) -> str:
            given.append(call.definition.timeout_ms)
            await asyncio.sleep(3600)
            return "never"

        rig.tools.add("slow", slow, timeout_ms=600_000)
        engine = rig.engine(ScriptedProvider([reply(call("slow")), say("Done.")]))
        engine.performer = replace(engine.performer, grace_s=0.0)
        state = await engine.start("run", rig.spec(limits=Limits(tool_ms=30)))
        assert given == [30]
        (returned,) = [e for e in await rig.events() if isinstance(e, ev.ToolReturned)]
        assert (returned.status, state.reason) == ("timeout", "tool_time_limit")
        await proven(rig)


class Silent(ScriptedProvider):
    """Never answers."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked = asyncio.Event()

    async def generate(self, payload: Any, on_delta: Any) -> Any:
        self.asked.set()
        await asyncio.get_running_loop().create_future()


@pytest.mark.req("limit-wall")
class TestWall:
    async def test_a_request_does_not_outlast_the_run(self, rig: Rig) -> None:
        state = await rig.run(Silent(), limits=Limits(wall_ms=50))
        assert (state.reason, state.failure) == ("wall_limit", None)
        (failed,) = [e for e in await rig.events() if isinstance(e, ev.ModelFailed)]
        assert failed.code == "out_of_time"
        await proven(rig)

    async def test_nor_does_a_request_for_a_summary(self, rig: Rig) -> None:
        clock = rig.clock

        class Reads(ScriptedProvider):
            async def generate(self, payload: Any, on_delta: Any) -> Any:
                if payload.fields["system"] == "Summarise.":
                    clock.time += 200
                    await asyncio.get_running_loop().create_future()
                answer = await super().generate(payload, on_delta)
                return answer.replace(usage=Usage())

        limits = Limits(turns=60, max_tokens=100, context_tokens=4_000, wall_ms=200)
        state = await rig.run(Reads(reading(50)), limits=limits, compaction="Summarise.")
        assert (state.reason, state.failure) == ("wall_limit", None)
        (failed,) = [e for e in await rig.events() if isinstance(e, ev.CompactionFailed)]
        assert failed.code == "out_of_time"
        await proven(rig)

    async def test_nor_does_it_wait_longer_for_what_another_has_reserved(self, rig: Rig) -> None:
        tree = Account(SpendingLimit(tokens=1_000), lambda model: None, tree="run")
        budgets, size = Budgets(MemoryBudget(), (tree,)), RequestSize(600, 300)
        first = await budgets.reserve(rig.spec(), size, 0)
        assert isinstance(first, Charges)
        late = await budgets.reserve(rig.spec(), size, 0, left_ms=20)
        assert isinstance(late, ModelFailure) and late.code == "budget"
        waiting = asyncio.create_task(budgets.reserve(rig.spec(), size, 0))
        await budgets.give_back([first])
        assert isinstance(await waiting, Charges)

    async def test_a_pause_takes_none_of_its_time(self, rig: Rig) -> None:
        async def read(call: Call) -> str:
            await engine.signals.post("run", b'{"type":"pause"}')
            await paused.wait()
            return "read"

        paused = asyncio.Event()

        class Watcher(Observer):
            def recorded(self, run: str, line: EventLine | IntentLine) -> None:
                if isinstance(line, EventLine) and isinstance(line.event, ev.PauseRequested):
                    paused.set()

        rig.observer = Watcher()
        rig.tools.add("read", read)
        engine = rig.engine(ScriptedProvider(list(reading(1))))
        state = await engine.start("run", rig.spec(limits=Limits(wall_ms=60_000)))
        assert state.standing == "paused"
        rig.clock.time += 3_600_000
        assert (await engine.resume("run")).reason == "done"
        await proven(rig)

    @pytest.mark.parametrize("counts", [True, False])
    async def test_waiting_for_a_person(self, rig: Rig, counts: bool) -> None:
        clock = rig.clock

        class Person:
            async def ask(self, question: Question) -> Answer:
                clock.time += 3_600_000
                return Answer(True, by="alice")

        async def work(call: Call) -> str:
            return "done"

        rig.approver = Person()
        rig.tools.add("asked", work, human_approval=True)
        limits = Limits(wall_ms=1_800_000, waiting_counts=counts)
        state = await rig.run([reply(call("asked")), say("Done.")], limits=limits)
        assert state.reason == ("wall_limit" if counts else "done")
        await proven(rig)

    async def test_what_goes_on_meanwhile_counts(self, rig: Rig) -> None:
        """A person is asked while another call is still at work."""
        clock, asked = rig.clock, asyncio.Event()

        class Person:
            async def ask(self, question: Question) -> Answer:
                asked.set()
                await worked.wait()
                return Answer(True, by="alice")

        worked = asyncio.Event()

        async def work(call: Call) -> str:
            await asked.wait()
            clock.time += 3_600_000
            worked.set()
            return "done"

        rig.approver = Person()
        rig.tools.add("asked", work, human_approval=True)
        rig.tools.add("other", work)
        limits = Limits(wall_ms=1_800_000, waiting_counts=False)
        state = await rig.run([reply(call("asked"), call("other")), say("Done.")], limits=limits)
        assert state.reason == "wall_limit"


class Day:
    """A rig whose runs spend from one budget: that of its journal."""

    def __init__(self, rig: Rig, **most: int) -> None:
        self.rig = rig
        assert isinstance(rig.journal, MemoryJournal)
        self.budget = rig.journal.budget
        self.limit = SpendingLimit(**most)
        self.prices: dict[str, Price] = {}

    def engine(self, provider: ScriptedProvider) -> Engine:
        engine = self.rig.engine(provider)
        budgets = Budgets(self.budget, (Account(self.limit, self.prices.get),))
        engine.performer = replace(engine.performer, budgets=budgets)
        return engine

    async def run(self, *answers: Any, run: str = "run", **facts: Any) -> RunState:
        return await self.engine(ScriptedProvider([*answers])).start(run, self.rig.spec(**facts))

    async def resume(self, *answers: Any, run: str = "run") -> RunState:
        return await self.engine(ScriptedProvider([*answers])).resume(run)

    async def spent(self) -> tuple[Amount, Amount]:
        now = self.rig.clock.now()
        found = await self.budget.spent(utc_day(now), now)
        return found.settled, found.reserved


class Emptiable(MemoryBudget):
    """Refuses everything while it is empty, and notes how much was to be reserved."""

    def __init__(self, noted: Any) -> None:
        super().__init__(noted)
        self.empty = False
        self.asked: list[int] = []

    def changes(self, spending: Spending) -> Any:
        self.asked += [wanted.need.tokens for wanted in spending.reservations]
        if self.empty and spending.reservations:
            raise BudgetError("Nothing is left.")
        return super().changes(spending)


class Written(MemoryBudget):
    """Reserves as a database does: in another thread, which no cancellation reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.writes, self.goes_on = asyncio.Event(), asyncio.Event()
        self.thread = asyncio.Future[None]()

    async def reserve(self, reservations: Sequence[Reservation]) -> None:
        self.thread = asyncio.ensure_future(self._write(reservations))
        await asyncio.shield(self.thread)

    async def _write(self, reservations: Sequence[Reservation]) -> None:
        self.writes.set()
        await self.goes_on.wait()
        await super().reserve(reservations)


class Emptied(MemoryJournal):
    """A journal whose budget is empty from the commit on that records the wish for a summary."""

    def __init__(self) -> None:
        super().__init__()
        self.budget: Emptiable = Emptiable(self._note)
        self.empties = True

    async def append(
        self, run: str, epoch: int, head: Head, records: Sequence[Record], *rest: Any
    ) -> Head:
        intents = [json.loads(record.body).get("intent", {}) for record in records]
        if self.empties and any(intent.get("type") == "Compact" for intent in intents):
            self.budget.empty = True
        return await super().append(run, epoch, head, records, *rest)


SMALL = Limits(max_tokens=100)


@pytest.mark.req("budget-counts")
def test_no_count_of_a_provider_gives_money_back() -> None:
    """More is read from a cache than there was input; or more than anybody has ever read."""
    odd = {"prompt_tokens": 1, "cached": 1_000_000, "negative": -5, "absurd": 10**40}
    price = Price(input=3_000_000, output=0, cached=300_000)
    cached = Usage(input_tokens=1, cached_tokens=count_of(odd, "cached"))
    assert price.micros(cached) == 300_000
    assert count_of(odd, "negative") == 0 and count_of(odd, "absurd") == MAX_COUNT


ABSURD = 10**12


@pytest.mark.req("budget-reports")
class TestReports:
    @pytest.mark.parametrize(
        "reported",
        [
            Usage(),
            Usage(input_tokens=-1_000_000, output_tokens=-5),
            Usage(input_tokens=ABSURD, output_tokens=ABSURD),
            Usage(input_tokens=50, output_tokens=5, cached_tokens=ABSURD),
            Usage(input_tokens=50, output_tokens=5, written_tokens=-ABSURD),
        ],
        ids=["none", "negative", "absurd", "more read than sent", "less than nothing written"],
    )
    async def test_what_cannot_be_true_gives_way_to_our_count(
        self, rig: Rig, reported: Usage
    ) -> None:
        day = Day(rig, tokens=10_000)
        price = Price(input=1_000_000, output=1_000_000, cached=1_000_000, written=2_000_000)
        answer = reply(call("read")).replace(usage=reported)
        state = await day.run(answer, say("Done."), limits=SMALL, price=price)
        first, second = [e for e in await rig.events() if isinstance(e, ev.ModelResponded)]
        assert (first.reported, second.reported) == (reported, None)
        wrote = sum(tokens_of(block.identity()) for block in answer.blocks)
        usage = first.usage
        assert 0 < usage.input_tokens < 1_000 and 0 < usage.output_tokens <= max(5, wrote)
        assert (usage.cached_tokens, usage.written_tokens) == (0, 0)
        assert (await day.spent())[0].tokens == state.usage.input_tokens + state.usage.output_tokens
        assert state.cost_micros == (await day.spent())[0].micros > 0
        await proven(rig)

    async def test_every_other_report_counts_in_full(self, rig: Rig) -> None:
        """Also where it is above what was reserved: the provider has charged for it."""
        day = Day(rig, tokens=100_000)
        dear = Usage(input_tokens=9_000, output_tokens=SMALL.max_tokens)
        state = await day.run(say("Done.").replace(usage=dear), limits=SMALL)
        assert state.usage == dear
        assert (await day.spent())[0].tokens == 9_100

    async def test_silence_exhausts_a_budget_too(self, rig: Rig) -> None:
        silent = [r.replace(usage=Usage()) for r in reading(9)]
        state = await Day(rig, tokens=4_000).run(*silent, limits=SMALL)
        assert (state.standing, state.failure) == ("stalled", "budget")
        limits = Limits(max_tokens=100, total_tokens=4_000)
        limited = await rig.run(list(silent), run="limited", limits=limits)
        assert limited.reason == "token_limit"

    async def test_a_summary_is_counted_likewise(self, rig: Rig) -> None:
        silent = [r.replace(usage=Usage()) for r in reading(50)]
        limits = Limits(turns=60, max_tokens=100, context_tokens=4_000)
        await rig.run(list(silent), limits=limits, compaction="Summarise.")
        summaries = [
            e
            for e in await rig.events()
            if isinstance(e, ev.ContextCompacted | ev.CompactionFailed) and e.attempts
        ]
        assert summaries and all(e.usage.input_tokens > 0 for e in summaries)


@pytest.mark.req("budget-day")
class TestDay:
    async def test_what_was_really_used_is_counted(self, rig: Rig) -> None:
        day = Day(rig, tokens=10_000)
        price = Price(input=1_000_000, output=2_000_000)
        await day.run(*reading(2), limits=SMALL, price=price)
        assert await day.spent() == (Amount(45, 60), Amount())

    async def test_the_next_request_is_not_made_and_the_run_waits(self, rig: Rig) -> None:
        day = Day(rig, tokens=1_200)
        big = reply(call("read"))
        big = big.replace(usage=Usage(input_tokens=1_000, output_tokens=50))
        state = await day.run(big, limits=SMALL)
        assert (state.standing, state.failure) == ("stalled", "budget")
        (failed,) = [e for e in await rig.events() if isinstance(e, ev.ModelFailed)]
        told = "Of 1,200 tokens for a day 1,050 tokens are spent and 0 tokens reserved"
        assert told in failed.message
        assert failed.attempts == 0
        await proven(rig)

    async def test_it_goes_on_the_next_day(self, rig: Rig) -> None:
        day = Day(rig, tokens=1_200)
        big = reply(call("read"))
        big = big.replace(usage=Usage(input_tokens=1_000, output_tokens=50))
        await day.run(big, limits=SMALL)
        assert (await day.resume()).failure == "budget"
        rig.clock.time += 86_400_000
        day.limit = SpendingLimit(tokens=3_000)  # the estimate of what was read has grown
        state = await day.resume(say("Done."))
        assert (state.reason, state.turn) == ("done", 2)
        await proven(rig)

    async def test_it_goes_on_when_the_budget_is_raised(self, rig: Rig) -> None:
        day = Day(rig, tokens=50)
        assert (await day.run(limits=SMALL)).failure == "budget"
        day.limit = SpendingLimit(tokens=5_000)
        assert (await day.resume(say("Done."))).reason == "done"

    async def test_money_too(self, rig: Rig) -> None:
        day = Day(rig, micros=100)
        dear = Price(input=1_000_000, output=50_000_000)
        assert (await day.run(limits=SMALL, price=dear)).failure == "budget"
        assert await day.run(say("."), run="free", limits=SMALL, price=Price(input=0, output=0))
        unknown = await day.run(run="unknown", limits=SMALL)
        assert unknown.failure == "budget", "a price that nobody knows is not zero"

    async def test_a_run_without_a_price_goes_on_when_one_is_given(self, rig: Rig) -> None:
        """It began before there was a budget in dollars, and its spec does not change."""
        day = Day(rig, micros=1_000_000)
        assert (await day.run(limits=SMALL)).failure == "budget"
        (failed,) = [e for e in await rig.events() if isinstance(e, ev.ModelFailed)]
        assert '[prices."scripted/m"]' in failed.message
        day.prices["scripted/m"] = Price(input=1_000_000, output=1_000_000)
        state = await day.resume(say("Done."))
        assert (state.reason, state.cost_micros) == ("done", None)
        assert await day.spent() == (Amount(15, 15), Amount())
        await proven(rig)

    async def test_a_request_that_was_refused_gives_back_what_was_reserved(self, rig: Rig) -> None:
        day = Day(rig, tokens=10_000)
        await day.run(ModelFailure(code="overloaded", message=""), limits=SMALL)
        assert await day.spent() == (Amount(), Amount())

    @pytest.mark.parametrize("code", ["malformed_response", "stream_truncated", "timeout"])
    async def test_a_reply_that_broke_off_gives_nothing_back(self, rig: Rig, code: Any) -> None:
        """It may be paid for: what was reserved stays until it expires."""
        day = Day(rig, tokens=10_000)
        await day.run(ModelFailure(code=code, message=""), limits=SMALL)
        settled, reserved = await day.spent()
        assert settled == Amount() and reserved.tokens > SMALL.max_tokens

    async def test_runs_at_the_same_time_share_it(self, rig: Rig) -> None:
        waiting = asyncio.Event()

        class Slow(ScriptedProvider):
            async def generate(self, payload: Any, on_delta: Any) -> Any:
                await waiting.wait()
                return say("Done.")

        day = Day(rig, tokens=1_000)
        specs = [rig.spec(limits=Limits(max_tokens=300)) for _ in range(5)]
        engine = day.engine(Slow([]))
        runs = [asyncio.ensure_future(engine.start(f"r{n}", s)) for n, s in enumerate(specs)]
        pending = set(runs)
        while len(pending) > 2:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        settled, reserved = await day.spent()
        assert settled == Amount() and 600 < reserved.tokens <= 1_000
        waiting.set()
        states = [await task for task in runs]
        assert sorted(state.reason or state.failure or "" for state in states) == [
            *["budget"] * 3,
            *["done"] * 2,
        ]
        assert await day.spent() == (Amount(2 * 15, 0), Amount())

    async def test_what_a_crash_had_reserved_expires(self, rig: Rig) -> None:
        day = Day(rig, tokens=10_000)
        silent = Silent()
        task = asyncio.ensure_future(day.engine(silent).start("run", rig.spec(limits=SMALL)))
        await silent.asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await day.spent())[1].tokens > 0, "nobody knows what it has cost"
        rig.clock = SteppingClock(rig.clock.time + EXPIRES_MS)
        assert (await day.spent())[1] == Amount()

    @pytest.mark.req("budget-stopped")
    async def test_a_request_that_has_not_left_gives_back_what_it_reserved(self, rig: Rig) -> None:
        """Its run is stopped while it waits for a permit; also when it is resumed and stopped."""
        day, keeper = Day(rig, tokens=10_000), PermitKeeper(MemoryPermits())
        limits = (SharedLimit("requests.scripted.at_once", 1),)
        taken = await keeper.take(limits)
        assert isinstance(taken, Permit)
        silent = Silent()
        engine = day.engine(silent)
        permits = RequestPermits(keeper, {"scripted": limits})
        engine.performer = replace(engine.performer, permits=permits)
        for begin in (
            lambda: engine.start("run", rig.spec(limits=SMALL)),
            lambda: engine.resume("run"),
        ):
            task = asyncio.ensure_future(begin())
            while not keeper.waiting.total():  # noqa: ASYNC110 - of this very loop
                await asyncio.sleep(0)
            assert (await day.spent())[1].tokens > SMALL.max_tokens
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert await day.spent() == (Amount(), Amount()) and not silent.asked.is_set()
        keeper.give_back(taken)
        state = await day.resume(say("Done."))
        assert (state.reason, await day.spent()) == ("done", (Amount(15, 0), Amount()))
        assert isinstance(rig.journal, MemoryJournal) and await rig.journal.audit() == []

    @pytest.mark.req("budget-stopped")
    @pytest.mark.parametrize("held", [0, 1_000], ids=["reserved", "refused"])
    async def test_one_that_is_stopped_while_it_reserves_gives_it_back(
        self, rig: Rig, held: int
    ) -> None:
        account = Account(SpendingLimit(tokens=1_000 - held), lambda model: None)
        budget = Written()
        budgets = Budgets(budget, (account,))
        task = asyncio.ensure_future(budgets.reserve(rig.spec(), RequestSize(100, 100), 0))
        await budget.writes.wait()
        task.cancel()
        asyncio.get_running_loop().call_soon(budget.goes_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait({budget.thread})
        assert isinstance(budget.thread.exception(), BudgetError) is bool(held)
        assert (await budget.spent(account.name(0), 0)).reserved == Amount()
        assert account.under_way.count == 0

    @pytest.mark.req("budget-stopped")
    @pytest.mark.parametrize(
        ("failures", "seconds", "kept"),
        [
            (("rate_limited", "overloaded"), 3600, False),
            (("rate_limited", "overloaded"), 0, True),
            (("timeout", "overloaded"), 3600, True),
        ],
        ids=["refused", "sent again", "begun before"],
    )
    async def test_one_between_two_attempts_gives_it_back(
        self, rig: Rig, failures: tuple[FailureCode, ...], seconds: int, kept: bool
    ) -> None:
        """Its attempts were refused, and cost nothing. Nobody knows what any other has cost."""
        waits = asyncio.Event()

        class Busy(ScriptedProvider):
            async def generate(self, payload: Any, on_delta: Any) -> Any:
                for number, code in enumerate(failures, start=2):
                    until = round((time.time() + seconds) * 1000)
                    on_delta(RetryDelta(code=code, until=until, attempt=number, attempts=4))
                waits.set()
                await asyncio.Event().wait()

        day = Day(rig, tokens=10_000)
        task = asyncio.ensure_future(day.engine(Busy([])).start("run", rig.spec(limits=SMALL)))
        await waits.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        settled, reserved = await day.spent()
        assert settled == Amount() and (reserved.tokens > 0) is kept

    @pytest.mark.req("budget-stopped")
    @pytest.mark.parametrize(("code", "kept"), [("rate_limited", False), ("timeout", True)])
    async def test_one_whose_time_is_over_between_two_attempts_gives_it_back(
        self, rig: Rig, code: FailureCode, kept: bool
    ) -> None:
        class Busy(ScriptedProvider):
            async def generate(self, payload: Any, on_delta: Any) -> Any:
                until = round((time.time() + 3600) * 1000)
                on_delta(RetryDelta(code=code, until=until, attempt=2, attempts=4))
                await asyncio.Event().wait()

        day = Day(rig, tokens=10_000)
        spec = rig.spec(limits=SMALL.replace(wall_ms=50))
        state = await day.engine(Busy([])).start("run", spec)
        (failed,) = [event for event in await rig.events() if isinstance(event, ev.ModelFailed)]
        assert (failed.code, state.reason) == ("out_of_time", "wall_limit")
        settled, reserved = await day.spent()
        assert settled == Amount() and (reserved.tokens > 0) is kept

    async def test_a_turn_makes_two_commits(self, rig: Rig) -> None:
        """A reservation is part of its intent's commit, a settlement part of the reply's."""
        day = Day(rig, tokens=10_000)
        await day.run(*reading(1), limits=SMALL)
        assert isinstance(rig.journal, MemoryJournal)
        notes = [json.loads(note.body)["note"] for note in rig.journal.notes()]
        assert notes == ["budget_reserved", "budget_settled"] * 2

    @pytest.mark.parametrize("limited", [True, False])
    async def test_without_a_limit_nothing_is_reserved_and_all_is_counted(
        self, rig: Rig, limited: bool
    ) -> None:
        day = Day(rig, **({"tokens": 10_000} if limited else {}))
        during: list[int] = []

        class Looks(ScriptedProvider):
            async def generate(self, payload: Any, on_delta: Any) -> Any:
                during.append((await day.spent())[1].tokens)
                return await super().generate(payload, on_delta)

        await day.engine(Looks([say("Done.")])).start("run", rig.spec(limits=SMALL))
        assert (during[0] > 0) is limited
        assert await day.spent() == (Amount(15, 0), Amount())

    async def test_what_is_never_sent_is_given_back(self, rig: Rig) -> None:
        """A run is cancelled between the commit of its intent and its request."""
        day = Day(rig, tokens=10_000)

        class Watcher(Observer):
            def recorded(self, run: str, line: EventLine | IntentLine) -> None:
                if isinstance(line, IntentLine) and line.intent.type == "Generate":
                    task.cancel()

        rig.observer = Watcher()
        silent = Silent()
        task = asyncio.ensure_future(day.engine(silent).start("run", rig.spec(limits=SMALL)))
        await asyncio.gather(task, return_exceptions=True)
        assert not silent.asked.is_set()
        assert await day.spent() == (Amount(), Amount())

    async def test_a_reply_that_cannot_be_recorded_is_counted(self, rig: Rig) -> None:
        """Another process has taken the run over meanwhile: the reply is lost, and paid for."""
        day = Day(rig, tokens=10_000)

        class Slow(ScriptedProvider):
            async def generate(self, payload: Any, on_delta: Any) -> Any:
                await rig.journal.acquire("run")
                return await super().generate(payload, on_delta)

        with pytest.raises(Fenced):
            await day.engine(Slow([say("Done.")])).start("run", rig.spec(limits=SMALL))
        assert await day.spent() == (Amount(15, 0), Amount())

    async def test_a_summary_waits_for_the_budget_too(self, rig: Rig) -> None:
        """Rather than have the conversation cut for want of money."""

        rig.journal = journal = Emptied()
        day = Day(rig, tokens=1_000_000)
        answers = [r.replace(usage=Usage()) for r in reading(9)]
        limits = Limits(turns=60, max_tokens=100, context_tokens=4_000)
        spec = rig.spec(limits=limits, compaction="Summarise.")
        state = await day.engine(ScriptedProvider(answers)).start("run", spec)
        assert (state.standing, state.failure) == ("stalled", "budget")
        (failed,) = [e for e in await rig.events() if isinstance(e, ev.CompactionFailed)]
        assert failed.code == "budget" and state.window.start == 0, "nothing was left out"
        journal.empties = journal.budget.empty = False
        provider = ScriptedProvider([say("Summary."), say("Done.")])
        state = await day.engine(provider).resume("run")
        asked: Any = provider.requests[0]
        whole = tokens_of(canonical(asked)) + asked["max_tokens"]
        assert whole in journal.budget.asked, "all of what is sent and what may come back"
        assert (state.reason, state.window.summary) == ("done", "Summary.")
        await proven(rig)
        whole = await load(rig.journal, rig.blobs, "run")
        for upto in commits(whole):
            snapshots = MemorySnapshots()
            keep(snapshots, "run", *await prefix(rig, upto), 0)
            same(await restore(rig.journal, rig.blobs, snapshots, "run"), whole)

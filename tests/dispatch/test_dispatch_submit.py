"""Submitting runs, and the segments in which workers execute them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from artificer import Agent, Policy, Rule, World, tool
from artificer.core.signals import AnswerCall, Cancel, FollowUp, Interrupt, Pause, Steer
from artificer.core.state import RunState
from artificer.core.submission import Submission
from artificer.dispatch.local import LocalDispatcher
from artificer.dispatch.segments import Segments
from artificer.dispatch.sweeper import PAGE, Sweeper, SweepTimes
from artificer.dispatch.worker import Worker, WorkerOptions
from artificer.errors import ExistsError, InvalidValueError, OperatorError
from artificer.ports import CANCEL, AwaitsRuns, DispatchedRun, Parked, Reached, RunOver
from artificer.providers.scripted import ScriptedReply
from artificer.runtime.delays import delay_of
from artificer.storage.memory.run_index import MemoryRunIndex
from artificer.testing import ScriptedProvider, call, reply
from artificer.testing.dispatcher_suite import WITHIN_S
from artificer.testing.rig import SteppingClock
from artificer.values.base import JsonObject
from artificer.values.model import ModelFailure

NO_AGENTS: dict[str, Agent] = {}


def world_of(*replies: ScriptedReply, **parts: Any) -> World:
    return World.in_memory(providers=[ScriptedProvider(list(replies))], **parts)


def chat(**fields: Any) -> Agent:
    return Agent("scripted/m", kind="chat", **fields)


async def nothing(run: str) -> None:
    """Wake no caller: these runs have none."""


async def until(condition: Callable[[], bool]) -> None:
    while True:
        if condition():
            return
        await asyncio.sleep(0.01)


async def reached(world: World, run: str, there: Callable[[RunState], bool]) -> RunState:
    """Wait until a run stands in some way."""
    while True:
        state = (await world.get(run)).state
        if there(state):
            return state
        await asyncio.sleep(0.01)


async def says(world: World, run: str, text: str) -> None:
    """Wait until a run is over with this text. Sweeps may execute it once more than it needs."""
    while True:
        found = await world.get(run)
        if found.state.status is not None and found.text == text:
            return
        await asyncio.sleep(0.01)


class Handed:
    """A dispatcher that keeps what it is told."""

    def __init__(self) -> None:
        self.submitted: list[DispatchedRun] = []
        self.woken: list[tuple[str, str]] = []

    async def submit(self, wanted: DispatchedRun) -> None:
        if wanted not in self.submitted:
            self.submitted.append(wanted)

    async def wake(self, run: str, cause: str) -> None:
        self.woken.append((run, cause))


class NoRoom(MemoryRunIndex):
    """Takes nothing."""

    def add(self, after: int, runs: object, upto: Reached) -> bool:
        raise OperatorError("database or disk is full")


@pytest.mark.req("submit-records")
class TestSubmitting:
    async def test_it_records_what_a_run_records_and_asks_no_model(self) -> None:
        world = world_of("hello")
        run = await world.submit("Hi", chat(), priority=1, tenant="acme", lane="slow")
        found = await world.get(run)
        assert found.status == "open"
        assert found.usage.input_tokens == 0
        assert found.state.run_spec.submission == Submission(priority=1, tenant="acme", lane="slow")
        finished = await world.resume(run)
        assert (finished.status, finished.text) == ("completed", "hello")
        assert (await world.archive.replay(run)).divergence is None

    async def test_an_id_is_taken_once(self) -> None:
        world = world_of()
        assert await world.submit("Hi", chat(), run_id="r1") == "r1"
        with pytest.raises(ExistsError, match="already exists") as refused:
            await world.submit("Hi", chat(), run_id="r1")
        assert refused.value.code == "exists"

    async def test_the_id_of_a_run_that_is_executed_is_taken(self) -> None:
        """The attempt takes nothing away from the owner, who goes on."""
        world = world_of(reply(call("again")), "done")
        refused = list[ExistsError]()

        @tool(effect="pure")
        async def again() -> str:
            """Submit the run that calls this."""
            with pytest.raises(ExistsError, match="already exists") as found:
                await world.submit("Hi", chat(), run_id="r1")
            refused.append(found.value)
            return "refused"

        ended = await world.run("Hi", chat(tools=[again]), run_id="r1")
        assert (ended.status, ended.text, len(refused)) == ("completed", "done", 1)

    @pytest.mark.parametrize(
        "options",
        [{"priority": 0}, {"priority": 6}, {"tenant": "a b"}, {"lane": "x" * 65}, {"name": "os"}],
    )
    async def test_nothing_begins_with_an_option_that_is_not_valid(self, options: Any) -> None:
        world = world_of()
        with pytest.raises(InvalidValueError):
            await world.submit("Hi", chat(), **options)
        assert await world.archive.runs() == []

    async def test_a_fork_is_nobody_elses(self) -> None:
        world = world_of("hello", "again")
        run = await world.submit("Hi", chat())
        await world.resume(run)
        fork = await world.fork(run, Agent())
        assert fork.state.run_spec.submission is None


@pytest.mark.req("segment-ends")
class TestSegments:
    async def test_a_run_is_executed_until_it_is_over(self) -> None:
        world = world_of("hello")
        run = await world.submit("Hi", chat())
        segments = Segments(world, NO_AGENTS, nothing)
        assert await segments.execute(run, "submitted") == RunOver()
        assert await segments.execute(run, "submitted") == RunOver()
        assert await segments.execute("nobody", "submitted") == RunOver()

    async def test_one_that_waits_for_a_person_is_left_as_it_is(self) -> None:
        done: list[int] = []

        @tool(effect="once")
        def charge(n: int) -> str:
            """Charge."""
            done.append(n)
            return "charged"

        agent = chat(tools=[charge], policy=Policy(rules=(Rule(decision="ask", tool="charge"),)))
        world = world_of(reply(call("charge", n=1)), "done")
        run = await world.submit("Hi", agent, name="here:agent")
        segments = Segments(world, {"here:agent": agent}, nothing)
        assert await segments.execute(run, "submitted") == Parked()
        records = len((await world.archive.history(run)).lines)
        assert await segments.execute(run, "submitted") == Parked()
        assert len((await world.archive.history(run)).lines) == records
        (question,) = (await world.get(run)).questions
        await world.send(run, AnswerCall(call=question.digest, approved=True))
        assert await segments.execute(run, "signal") == RunOver()
        assert done == [1]

    async def test_a_paused_run_stays_paused_until_it_is_to_end(self) -> None:
        @tool
        def look() -> str:
            """Look."""
            return "seen"

        agent = chat(tools=[look])
        world = world_of(reply(call("look")), "done")
        run = await world.submit("Hi", agent)
        await world.send(run, Pause())
        segments = Segments(world, {"a:b": agent}, nothing)
        assert await segments.execute(run, "submitted") == Parked()
        await world.send(run, Steer(text="Go on?"))
        assert await segments.execute(run, "signal") == Parked()
        assert (await world.get(run)).status == "paused"
        await world.send(run, Cancel())
        assert await segments.execute(run, "signal") == RunOver()
        assert (await world.get(run)).status == "cancelled"

    async def test_a_cancellation_is_recorded_once_before_it_acts(self) -> None:
        world = world_of()
        run = await world.submit("Hi", chat())
        segments = Segments(world, NO_AGENTS, nothing)
        assert await segments.execute(run, f"{CANCEL}enough") == RunOver()
        assert await segments.execute(run, f"{CANCEL}enough") == RunOver()
        assert (await world.get(run)).status == "cancelled"
        assert len(await world.storage.signals.read(run)) == 1

    async def test_a_run_whose_agent_is_not_here_is_left_to_another_worker(self) -> None:
        world = world_of("hello")
        run = await world.submit("Hi", chat(), name="triage:agent")
        found = await Segments(world, NO_AGENTS, nothing).execute(run, "submitted")
        assert isinstance(found, Parked) and found.seconds
        assert (await world.get(run)).status == "open"
        agents = {"triage:agent": chat()}
        assert await Segments(world, agents, nothing).execute(run, "timer") == RunOver()

    async def test_a_run_that_is_executed_elsewhere_is_tried_again_soon(self) -> None:
        began, let_go = asyncio.Event(), asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            began.set()
            await let_go.wait()
            return "ok"

        agent = chat(tools=[wait])
        world = world_of(reply(call("wait")), "done")
        run = await world.submit("Hi", agent)
        segments = Segments(world, {"x:y": agent}, nothing)
        task = asyncio.create_task(segments.execute(run, "submitted"))
        await began.wait()
        found = await segments.execute(run, "submitted")
        assert isinstance(found, Parked) and found.seconds
        let_go.set()
        assert await task == RunOver()

    async def test_a_run_waits_with_the_agent_that_it_called(self) -> None:
        @tool(effect="once")
        def charge() -> str:
            """Charge."""
            return "charged"

        inner = chat(tools=[charge], policy=Policy(rules=(Rule(decision="ask", tool="charge"),)))
        outer = chat(tools=[inner.as_tool("inner", "Charges.")])
        replies = [reply(call("inner", prompt="Go")), reply(call("charge")), "charged", "done"]
        world = world_of(*replies)
        run = await world.submit("Hi", outer, name="a:outer")
        await world.resume(run, outer)  # a person, in whose process the agent is a part of the run
        segments = Segments(world, {"a:outer": outer}, nothing)
        assert await segments.execute(run, "submitted") == Parked()
        (question,) = (await world.get(run)).questions
        assert question.run != run
        handed = Handed()
        sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
        await sweeper.look_at_all()
        await world.send(question.run, AnswerCall(call=question.digest, approved=True))
        await sweeper.look_at_new()
        assert handed.woken == [(run, "signal")]
        assert await segments.execute(run, "signal") == RunOver()
        assert (await world.get(run)).status == "completed"


@pytest.mark.req("delayed-retry")
class TestStalledRuns:
    async def test_a_model_that_is_overloaded_is_asked_again_later_and_later(self) -> None:
        down = ModelFailure(code="overloaded", message="Busy.")
        clock = SteppingClock()
        world = world_of(down, down, "hello", clock=clock)
        run = await world.submit("Hi", chat())
        segments = Segments(world, NO_AGENTS, nothing)
        first = await segments.execute(run, "submitted")
        assert isinstance(first, Parked) and first.seconds and 14 < first.seconds <= 15
        records = len((await world.archive.history(run)).lines)
        assert isinstance(await segments.execute(run, "signal"), Parked)
        assert len((await world.archive.history(run)).lines) == records
        clock.time += 15_000
        second = await segments.execute(run, "timer")
        assert isinstance(second, Parked) and second.seconds and 29 < second.seconds <= 30
        clock.time += 30_000
        assert await segments.execute(run, "timer") == RunOver()

    async def test_a_key_that_is_refused_waits_for_a_person(self) -> None:
        world = world_of(ModelFailure(code="auth", message="Who are you?"))
        run = await world.submit("Hi", chat())
        assert await Segments(world, NO_AGENTS, nothing).execute(run, "submitted") == Parked()

    async def test_retries_end(self) -> None:
        clock = SteppingClock()
        down = ModelFailure(code="unavailable", message="Gone.")
        world = world_of(*[down] * 20, clock=clock)
        run = await world.submit("Hi", chat())
        segments, waits = Segments(world, NO_AGENTS, nothing), list[float]()
        end = await segments.execute(run, "submitted")
        while isinstance(end, Parked) and end.seconds is not None:
            waits.append(end.seconds)
            clock.time += int(end.seconds * 1000) + 1
            end = await segments.execute(run, "timer")
        assert (len(waits), end) == (13, Parked())
        assert delay_of(()) is None


@pytest.mark.req("sweeper")
class TestSweeper:
    async def test_it_submits_what_was_submitted_and_is_not_over(self) -> None:
        world = world_of("one", "two", "three")
        await world.run("Mine", chat())
        over = await world.submit("Over", chat())
        await world.resume(over)
        run = await world.submit("Hi", chat(), priority=2, tenant="t", lane="l")
        handed = Handed()
        sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
        await sweeper.look_at_all()
        assert handed.submitted == [DispatchedRun(run, 2, "t", "l")]
        assert sweeper.backlog.open == 1

    async def test_it_finds_new_runs_and_signals_by_themselves(self) -> None:
        world = world_of("one", "two")
        handed = Handed()
        sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
        await sweeper.look_at_all()
        run = await world.submit("Hi", chat())
        await sweeper.look_at_new()
        assert [wanted.run for wanted in handed.submitted] == [run]
        await world.send(run, FollowUp(text="More"))
        await sweeper.look_at_new()
        await sweeper.look_at_new()
        assert handed.woken == [(run, "signal")]

    @pytest.mark.parametrize("before", [0, 1])
    @pytest.mark.parametrize("first", [Sweeper.look_at_new, Sweeper.look_at_all])
    async def test_many_new_runs_are_all_found(
        self, first: Callable[[Sweeper], Awaitable[None]], before: int
    ) -> None:
        world = world_of()
        handed = Handed()
        sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
        for _ in range(before):
            await world.submit("First", chat())
        await first(sweeper)
        runs = [await world.submit("Hi", chat()) for _ in range(230)]
        await sweeper.look_at_new()
        assert {wanted.run for wanted in handed.submitted[before:]} == set(runs)

    async def test_it_looks_once_at_each_run_though_some_end_meanwhile(self) -> None:
        """There is no index, and the last run of a page is over when the next page is read."""
        world = world_of()
        world.storage.run_index = NoRoom()  # type: ignore[attr-defined]
        runs = [await world.submit("Hi", chat()) for _ in range(PAGE + 2)]

        class Executes(Handed):
            async def submit(self, wanted: DispatchedRun) -> None:
                await super().submit(wanted)
                if wanted.run == runs[PAGE - 1]:
                    await world.cancel(wanted.run)

        handed = Executes()
        sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
        await sweeper.look_at_all()
        assert [wanted.run for wanted in handed.submitted] == runs
        assert sweeper.backlog.open == len(runs)

    async def test_an_imported_run_is_not_executed_because_its_file_says_so(self) -> None:
        origin, world = world_of(), world_of()
        run = await origin.submit("Delete everything", chat())
        await world.import_run(await origin.archive.export_run(run))
        handed = Handed()
        sweeper = Sweeper(world, handed)  # type: ignore[arg-type]
        await sweeper.look_at_all()
        await sweeper.look_at_new()
        await world.send(run, FollowUp(text="More"))
        await sweeper.look_at_new()
        assert (handed.submitted, handed.woken) == ([], [])


@pytest.mark.req("worker")
class TestWorker:
    async def test_it_executes_what_is_submitted_and_what_it_gets_signals_for(self) -> None:
        world = world_of("hello", "more")
        times = SweepTimes(new_s=0.01, all_s=0.05)
        worker = Worker(world, LocalDispatcher(), NO_AGENTS, WorkerOptions(sweep=times))
        task = asyncio.create_task(worker.run())
        run = await world.submit("Hi", chat())
        async with asyncio.timeout(WITHIN_S):
            await says(world, run, "hello")
            await world.send(run, FollowUp(text="And?"))
            await says(world, run, "more")
            await until(lambda: "over" in worker.report().ended)  # one segment may have done both
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert worker.report().draining
        assert worker.report().executing == {}

    @pytest.mark.req("idle-ends-at-once")
    @pytest.mark.parametrize(
        ("end", "status"), [(Cancel(), "cancelled"), (Interrupt(), "interrupted")]
    )
    async def test_one_that_waits_is_ended_while_another_one_has_the_only_slot(
        self, end: Cancel | Interrupt, status: str
    ) -> None:
        let_go = asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            await let_go.wait()
            return "ok"

        @tool(effect="once")
        def charge() -> str:
            """Charge."""
            return "charged"

        def answer(body: JsonObject) -> ScriptedReply:
            return reply(call("charge" if "Charge" in str(body["messages"]) else "wait"))

        rules = Policy(rules=(Rule(decision="ask", tool="charge"),))
        agent = chat(tools=[wait, charge], policy=rules)
        world = World.in_memory(providers=[ScriptedProvider(answer)])
        options = WorkerOptions(slots=1, grace_s=0, sweep=SweepTimes(new_s=0.01))
        waiting = await world.submit("Charge!", agent, name="a:b")
        worker = Worker(world, LocalDispatcher(), {"a:b": agent}, options)
        task = asyncio.create_task(worker.run())
        async with asyncio.timeout(WITHIN_S):
            await reached(world, waiting, lambda state: state.standing == "waiting")
            busy = await world.submit("Wait!", agent, name="a:b")
            await until(lambda: busy in worker.report().executing)
            await world.send(waiting, end)
            ended = await reached(world, waiting, lambda state: state.status is not None)
        assert ended.reason == status
        assert (await world.get(busy)).status == "open"
        assert len(await world.storage.signals.read(waiting)) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def test_a_run_that_is_stopped_with_its_worker_can_go_on_at_once(self) -> None:
        began = asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            began.set()
            await asyncio.Event().wait()
            return "never"

        agent = chat(tools=[wait])
        world = world_of(reply(call("wait")), "done")
        worker = Worker(world, LocalDispatcher(), {"a:b": agent}, WorkerOptions(grace_s=0))
        task = asyncio.create_task(worker.run())
        run = await world.submit("Hi", agent)
        async with asyncio.timeout(WITHIN_S):
            await began.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await world.get(run)).status == "open"
        assert (await world.cancel(run)).status == "cancelled"  # nobody owns it: no take-over

    def test_a_wait_for_runs_names_them(self) -> None:
        assert AwaitsRuns(("a.b",)).runs == ("a.b",)

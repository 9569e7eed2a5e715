"""Whose turn it is among jobs, the room in their lanes, and what the worker of a child may read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from studio_kit import fixture

from artificer import Agent, Cancel, Config, ScriptedProvider, World
from artificer.config import SharedLimits, WorkerConfig
from artificer.dispatch.segments import Segments
from artificer.errors import Fenced, ForbiddenError, NotFoundError
from artificer.ports import AwaitsRuns, Head, Permit, Record, SharedLimit
from artificer.providers.scripted import call, reply
from artificer.storage.memory.permits import MemoryPermits
from artificer.storage.memory.storage import MemoryStorage
from artificer.storage.sqlite.permits import SqlitePermits
from artificer.studio.access import Actor
from artificer.studio.jobs.exchange import JobEnding, LeasedJob
from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.queue import JobQueue
from artificer.studio.jobs.records import JobRecords
from artificer.studio.jobs.rows import JobRow
from artificer.studio.jobs.service import Jobs
from artificer.values.canon import canonical, digest_of

WORKER = Actor("worker", sender="token 1")
LANES = WorkerConfig(lanes={"slow": 1})
REQUESTS = {"scripted": SharedLimits(at_once=1, per_minute=30)}
SLOW = [SharedLimit("lanes.slow.at_once", 1)]
AGENT = Agent(ScriptedProvider([]), kind="chat")


class Watch:
    """A clock that a test turns, for leases and for permits."""

    def __init__(self) -> None:
        self.ms, self.runs = 1_700_000_000_000, 0

    def now(self) -> int:
        return self.ms

    def new_run_id(self) -> str:
        self.runs += 1
        return f"r{self.runs}"


class SharingStorage(MemoryStorage):
    """A storage whose processes share limits."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.permits = MemoryPermits(lambda: watch.ms / 1000)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@fixture
async def jobs(watch: Watch, tmp_path: Path) -> AsyncIterator[Jobs]:
    storage = SharingStorage(watch)
    config = Config(home=tmp_path, worker=LANES, requests=REQUESTS)
    async with World.open(config, storage, clock=watch) as world:
        jobs = Jobs(world)
        yield jobs
        await jobs.aclose()


async def new_job(jobs: Jobs, **submitted: str) -> str:
    """A submitted run that waits for a worker."""
    run = await jobs.world.submit("Hi", AGENT, **submitted)  # type: ignore[arg-type]
    await jobs.submit(run, 3, 3)
    return run


async def lease(jobs: Jobs, seconds: int = 600) -> LeasedJob | None:
    async def gone() -> bool:
        return False

    jobs.sweeping.begin = lambda: None  # type: ignore[method-assign]  # what is queued is enough
    return await jobs.lease(WORKER, "", seconds, 0, gone)


async def leased(jobs: Jobs) -> JobRow:
    """The job that is leased next."""
    found = await lease(jobs)
    assert found is not None
    return jobs.held(WORKER, found.run, found.attempt, found.fence)


async def parked(jobs: Jobs, row: JobRow) -> None:
    await jobs.end(WORKER, row.run, row.attempt, row.fence, JobEnding("parked"))


@pytest.mark.req("http-worker-lanes")
class TestLanes:
    async def test_a_full_lane_holds_up_its_own_jobs_alone(self, jobs: Jobs) -> None:
        """They keep their order, and go on when room is given back, however an attempt ends."""
        slow = [await new_job(jobs, lane="slow") for _ in range(3)]
        other = await new_job(jobs)
        first = await leased(jobs)
        assert first.run == slow[0]
        assert (await leased(jobs)).run == other
        assert await lease(jobs) is None
        assert [jobs.queue.get(run).attempt for run in slow] == [1, 0, 0]
        await parked(jobs, first)
        second = await leased(jobs)
        assert second.run == slow[1]
        await jobs.release(second)
        assert (await leased(jobs)).run == slow[1]
        assert await lease(jobs) is None

    async def test_workers_with_a_database_share_the_lane(self, jobs: Jobs) -> None:
        permits = jobs.storage.shared_permits
        run = await new_job(jobs, lane="slow")
        assert await permits.take("theirs", SLOW, 600) is None
        assert await lease(jobs) is None
        jobs.lanes._closed.clear()  # a moment later
        assert await lease(jobs) is None
        jobs.storage.storage.permits._taken.clear()  # type: ignore[attr-defined]  # given back
        jobs.lanes._closed.clear()
        assert (await leased(jobs)).run == run
        assert await permits.take("theirs", SLOW, 600) is not None

    async def test_room_lasts_as_long_as_the_lease_and_no_longer(
        self, jobs: Jobs, watch: Watch
    ) -> None:
        """A worker that is killed leaves it when its lease ends; one that beats keeps it."""
        runs = [await new_job(jobs, lane="slow") for _ in range(2)]
        row = await leased(jobs)
        watch.ms += 599_000
        await jobs.heartbeat(row, 0)
        watch.ms += 599_000
        assert await lease(jobs) is None
        watch.ms += 2_000
        jobs.lanes._closed.clear()
        again = await leased(jobs)
        assert (again.run, again.attempt, again.failures) == (runs[0], 2, 1)

    async def test_a_run_that_is_to_end_needs_no_room(self, jobs: Jobs) -> None:
        held, waits = [await new_job(jobs, lane="slow") for _ in range(2)]
        assert (await leased(jobs)).run == held
        await jobs.world.send(waits, Cancel(reason="enough"))
        jobs.idle.cancel(waits)
        row = await leased(jobs)
        assert (row.run, row.ends) == (waits, 1)
        await jobs.heartbeat(row, 0)
        assert await jobs.storage.shared_permits.held() == {"lanes.slow.at_once": 1}

    async def test_tenants_take_turns(self, jobs: Jobs) -> None:
        """Who submits much delays nobody else; a priority goes before."""
        names = ["a", "a", "a", "b", "c"]
        runs = {await new_job(jobs, tenant=name): name for name in names}
        first = await jobs.world.submit("Hi", AGENT, tenant="a", priority=1)
        await jobs.submit(first, 1, 3)
        order = [(await leased(jobs)).run for _ in range(6)]
        assert order[0] == first
        assert [runs[run] for run in order[1:]] == ["b", "c", "a", "a", "a"]

    async def test_a_file_of_an_earlier_release_goes_on(self, tmp_path: Path) -> None:
        """Its jobs have no lanes and no tenants."""
        path = tmp_path / "jobs.db"
        made = JobFile(path)
        with made.changing() as db:
            for column in ("tenant", "lane", "awaits", "ends", "woken"):
                db.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        made.close()
        queue = JobQueue(JobFile(path), lambda: 7)
        queue.submit("r")
        row = queue.lease("h", "w", "", 5)
        assert row is not None and (row.run, row.lane, row.awaits) == ("r", "", 0)


async def nobody(run: str) -> None:
    """Wake no caller."""


async def family(jobs: Jobs) -> tuple[str, str]:
    """A run that waits for one which its model has called, and that one."""
    child = Agent(ScriptedProvider(["Child."]), kind="chat")
    boss = Agent(
        ScriptedProvider([reply(call("ask", prompt="Go."))]),
        kind="chat",
        tools=[child.as_tool("ask", "Asks.")],
    )
    run = await jobs.world.submit("Go.", boss, name="here:boss", run_id="r", lane="slow")
    end = await Segments(jobs.world, {"here:boss": boss}, nobody).execute(run, "submitted")
    assert isinstance(end, AwaitsRuns)
    await jobs.submit(end.runs[0], 3, 3)
    return run, end.runs[0]


@pytest.mark.req("http-worker-children")
class TestFamilies:
    async def test_the_worker_of_a_child_reads_what_has_called_it_and_no_more(
        self, jobs: Jobs
    ) -> None:
        run, child = await family(jobs)
        stranger = await jobs.world.submit("Hi", AGENT)
        secret = jobs.storage.blobs.put(b"of a stranger")
        row, records = await leased(jobs), JobRecords(jobs)
        assert (row.run, row.lane) == (child, "slow")
        assert await records.read(row, run, 0, 100)
        with pytest.raises(ForbiddenError):
            await records.read(row, stranger, 0, 100)
        with pytest.raises(ForbiddenError):
            await records.signals(row, run, 0)
        with pytest.raises(ForbiddenError):
            records.own(row, run)
        with pytest.raises(NotFoundError):
            await records.get_blob(row, secret)

    async def test_a_run_that_names_a_caller_further_up_is_not_believed(self, jobs: Jobs) -> None:
        """A worker wrote it, below its own run."""
        run, child = await family(jobs)
        journal = jobs.storage.journal
        await jobs.world.submit("Hi", AGENT, run_id="r.x")
        line = json.loads((await journal.read(child, limit=1))[0].body)
        line["run"] = forged = "r.x.ask-1"
        body = canonical(line)
        found = await journal.acquire(forged)
        record = Record(forged, 1, digest_of(body), body)
        await journal.append(forged, found.epoch, Head(seq=0, hash=""), [record])
        assert await jobs.families.callers(child) == (run,)
        assert await jobs.families.callers(forged) == ()

    async def test_a_caller_is_handed_out_when_none_of_its_runs_goes_on(self, jobs: Jobs) -> None:
        """Whoever executes them: a worker with a database tells this server nothing."""
        run, child = await family(jobs)
        await jobs.submit(run, 3, 3)
        jobs.idle.finish(child)
        row = await leased(jobs)
        assert row.run == run
        ending = JobEnding("children", runs=(child,))
        row = await jobs.end(WORKER, run, row.attempt, row.fence, ending)
        assert (row.state, row.awaits) == ("parked", 1)
        jobs.idle.hurry(run)
        assert await lease(jobs) is None, "the journal says that it goes on"
        await jobs.world.cancel(child)
        jobs.idle.hurry(run)
        assert (await leased(jobs)).run == run


AT_ONCE, PER_MINUTE = "requests.scripted.at_once", "requests.scripted.per_minute"


@pytest.mark.req("http-worker-permits")
class TestPermits:
    async def test_a_permit_lasts_as_long_as_the_lease_may(self, jobs: Jobs, watch: Watch) -> None:
        """A worker that is cut off goes on until then; one that was killed holds it no longer."""
        await new_job(jobs)
        row = await leased(jobs)
        lasts = jobs.reach.permit_s(10, row.seconds)
        assert await jobs.permits.take(row, "p", [AT_ONCE], lasts) is None
        watch.ms += 599_000
        assert await jobs.permits.take(row, "q", [AT_ONCE], lasts) is not None
        await jobs.permits.renew(row, [Permit("p", (AT_ONCE,))], lasts)
        watch.ms += 599_000
        assert await jobs.permits.take(row, "q", [AT_ONCE], lasts) is not None
        watch.ms += 2_000
        assert await jobs.permits.take(row, "q", [AT_ONCE], lasts) is None

    async def test_a_worker_takes_within_the_limits_of_the_world_whatever_it_says(
        self, jobs: Jobs
    ) -> None:
        """It touches no permit of another lease, and none of a lane or a rate."""
        for _ in range(2):
            await new_job(jobs)
        row, other = await leased(jobs), await leased(jobs)
        names = [AT_ONCE, AT_ONCE, PER_MINUTE, "lanes.slow.at_once", "mine"]
        assert await jobs.permits.take(row, "p", names, 600) is None
        assert await jobs.permits.held() == {AT_ONCE: 1, PER_MINUTE: 1}
        held = Permit("p", (AT_ONCE, PER_MINUTE, "lanes.slow.at_once"))
        await jobs.permits.give_back(other, [held])
        assert (await jobs.permits.held())[AT_ONCE] == 1
        await jobs.permits.give_back(row, [held])
        assert await jobs.permits.held() == {PER_MINUTE: 1}
        await jobs.permits.renew(row, [held], 600)
        assert await jobs.permits.held() == {AT_ONCE: 1, PER_MINUTE: 1}

    async def test_a_permit_is_given_back_after_the_lease_and_by_no_former_one(
        self, jobs: Jobs
    ) -> None:
        await new_job(jobs)
        row = await leased(jobs)
        await jobs.release(row)
        assert jobs.ended(WORKER, row.run, row.attempt, row.fence).owner == row.owner
        with pytest.raises(Fenced):
            jobs.ended(Actor("other", sender="token 2"), row.run, row.attempt, row.fence)
        await leased(jobs)
        with pytest.raises(Fenced):
            jobs.ended(WORKER, row.run, row.attempt, row.fence)


@pytest.mark.req("http-worker-permits")
async def test_what_a_studio_took_for_workers_is_not_its_own(tmp_path: Path) -> None:
    """In a folder the room of a dead process comes free at once; but the workers go on."""
    permits = SqlitePermits(tmp_path)
    for permit in ("http-1.p", "ours"):
        assert await permits.take(permit, [SharedLimit("two", 2)], 600) is None
        await permits.renew([Permit(permit, ("two",))], 600)
    assert await permits.take("next", [SharedLimit("two", 2)], 600) is not None
    permits.close()
    with closing(sqlite3.connect(tmp_path / "permits.db")) as db:
        owners = dict(db.execute("SELECT permit, owner FROM permits"))
    assert (owners["http-1.p"], bool(owners["ours"])) == ("", True)

"""The queue of jobs while its database is slow, away or damaged, and workers that repeat things."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from studio_kit import fixture

from artificer.agent import Agent
from artificer.config import Config
from artificer.core.signals import Steer
from artificer.errors import Fenced, OperatorError, TamperedError
from artificer.ports import (
    UNCLAIMED,
    Amount,
    Claim,
    Lease,
    Reservation,
    Spending,
    SpendingLimit,
)
from artificer.providers.scripted import ScriptedProvider
from artificer.runtime.limits.accounts import EXPIRES_MS
from artificer.storage.memory import MemoryJournal, MemorySignals
from artificer.storage.memory.storage import MemoryStorage
from artificer.studio.access import Actor
from artificer.studio.jobs.exchange import JobEnding, LeasedJob
from artificer.studio.jobs.records import JobRecords
from artificer.studio.jobs.rows import JobRow
from artificer.studio.jobs.service import Jobs
from artificer.world import World

ONE, OTHER = Actor("one", sender="token 1"), Actor("other", sender="token 2")


class TroubledJournal(MemoryJournal):
    """A journal in which runs are acquired slowly, or not at all. ``troubles`` are the errors."""

    def __init__(self) -> None:
        super().__init__()
        self.troubles: list[Exception] = []
        self.gate: asyncio.Event | None = None
        self.waiting = asyncio.Event()
        self.releases: asyncio.Barrier | None = None

    async def acquire(self, run: str, claim: Claim = UNCLAIMED) -> Lease:
        """Acquire a run, once that is let."""
        if self.troubles and not claim.owner == "":
            raise self.troubles.pop(0)
        if (gate := self.gate) is not None:
            self.gate = None
            self.waiting.set()
            await gate.wait()
        return await super().acquire(run, claim)

    async def release(self, run: str, epoch: int) -> None:
        """Give a run up, once as many as that want to."""
        if self.releases is not None:
            await self.releases.wait()
        await super().release(run, epoch)


class SlowSignals(MemorySignals):
    """Signals that are posted when that is let."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.begun = asyncio.Event(), asyncio.Event()

    async def post(self, run: str, body: bytes) -> int:
        """Post one."""
        self.begun.set()
        await self.gate.wait()
        return await super().post(run, body)


class TroubledStorage(MemoryStorage):
    """A storage with trouble."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = self.troubled = TroubledJournal()


@pytest.fixture
def storage() -> TroubledStorage:
    return TroubledStorage()


@fixture
async def jobs(storage: TroubledStorage, tmp_path: Path) -> AsyncIterator[Jobs]:
    async with World.open(Config(home=tmp_path), storage) as world:
        jobs = Jobs(world)
        yield jobs
        await jobs.aclose()


async def new_job(jobs: Jobs) -> str:
    """A run that waits for a worker."""
    run = await jobs.world.submit("Hi", Agent(ScriptedProvider([]), kind="chat"))
    await jobs.submit(run, 3, 3)
    return run


async def lease(jobs: Jobs, actor: Actor) -> LeasedJob | None:
    async def gone() -> bool:
        return False

    return await jobs.lease(actor, "", 600, 0, gone)


async def lapsed_while_it_began(
    jobs: Jobs, storage: TroubledStorage, run: str
) -> tuple[asyncio.Future[LeasedJob | None], asyncio.Event]:
    """A lease that ended before the slow database let it begin: it goes on at the event."""
    gate = storage.troubled.gate = asyncio.Event()
    slow = asyncio.ensure_future(lease(jobs, ONE))
    await storage.troubled.waiting.wait()
    lapse(jobs, run)
    return slow, gate


def lapse(jobs: Jobs, run: str) -> None:
    with jobs.queue._file.changing() as db:
        db.execute("UPDATE jobs SET expires = 1 WHERE run = ?", (run,))


@pytest.mark.req("http-worker-outages")
async def test_a_lease_that_ends_while_it_begins_takes_nothing_from_the_next_one(
    jobs: Jobs, storage: TroubledStorage
) -> None:
    """The database was slow. The first worker is answered that there is no job for it."""
    run = await new_job(jobs)
    slow, gate = await lapsed_while_it_began(jobs, storage, run)
    second = await lease(jobs, OTHER)
    assert second is not None and second.attempt == 2
    gate.set()
    assert await slow is None
    row = jobs.held(OTHER, run, second.attempt, second.fence)
    assert (await jobs.heartbeat(row, 0)).expires > 0


@pytest.mark.req("http-worker-outages")
async def test_a_run_that_is_acquired_too_late_is_given_up(
    jobs: Jobs, storage: TroubledStorage
) -> None:
    """Nobody was told: whoever is next finds no owner that may still act."""
    run = await new_job(jobs)
    slow, gate = await lapsed_while_it_began(jobs, storage, run)
    jobs.queue.page(None, None, 1)
    with jobs.queue._file.changing() as db:
        db.execute("UPDATE jobs SET due = 1 << 60 WHERE run = ?", (run,))
    gate.set()
    assert await slow is None
    jobs.wake(run)
    second = await lease(jobs, OTHER)
    assert second is not None and (second.attempt, second.former) == (2, "")


@pytest.mark.req("http-worker-outages")
async def test_a_damaged_run_stops_no_worker(jobs: Jobs, storage: TroubledStorage) -> None:
    """It waits, and becomes a dead letter; others are handed out."""
    damaged, run = await new_job(jobs), await new_job(jobs)
    storage.troubled.troubles = [TamperedError("Its bytes were changed.")]
    leased = await lease(jobs, ONE)
    assert leased is not None and leased.run == run
    row = jobs.queue.get(damaged)
    assert (row.state, row.failures, row.error) == ("queued", 1, "Its bytes were changed.")


@pytest.mark.req("http-worker-outages")
async def test_a_database_that_is_away_uses_up_no_attempt(
    jobs: Jobs, storage: TroubledStorage
) -> None:
    run = await new_job(jobs)
    for _ in range(4):
        storage.troubled.troubles = [OperatorError("The database cannot be reached.")]
        with pytest.raises(OperatorError):
            await lease(jobs, ONE)
        jobs.wake(run)
    leased = await lease(jobs, ONE)
    assert leased is not None and jobs.queue.get(run).failures == 0


async def held(jobs: Jobs) -> tuple[JobRow, str]:
    """A job that a worker has leased."""
    run = await new_job(jobs)
    leased = await lease(jobs, ONE)
    assert leased is not None
    return jobs.held(ONE, run, leased.attempt, leased.fence), run


@pytest.mark.req("http-worker-outages")
async def test_a_request_that_is_sent_again_before_it_was_answered_is_done_once(
    jobs: Jobs, storage: TroubledStorage
) -> None:
    """The worker heard nothing for too long, while the database was slow."""
    row, run = await held(jobs)
    storage.journal.signals = slow = SlowSignals()
    jobs.storage.signals._signals = slow  # the port that it had
    records, body = JobRecords(jobs), Steer(text="Faster.").canonical()
    first = asyncio.ensure_future(records.post(row, run, body, "r"))
    await slow.begun.wait()
    first.cancel()  # its sender is gone
    posts = [asyncio.ensure_future(records.post(row, run, body, "r")) for _ in range(2)]
    for _ in range(20):  # they get as far as they can
        await asyncio.to_thread(int)
    slow.gate.set()
    assert await asyncio.gather(*posts) == [1, 1]
    assert await records.post(row, run, body, "r") == 1
    assert await records.post(row, run, body, "") == 2
    assert len(await slow.read(run)) == 2


@pytest.mark.req("http-worker-outages")
async def test_an_ending_that_is_said_twice_at_once_counts_once(
    jobs: Jobs, storage: TroubledStorage
) -> None:
    row, run = await held(jobs)
    storage.troubled.releases = asyncio.Barrier(2)
    said = [JobEnding("parked", seconds=600)] * 2
    ended = [jobs.end(ONE, run, row.attempt, row.fence, one) for one in said]
    first, second = await asyncio.gather(*ended)
    assert first == second and first.state == "parked"
    with pytest.raises(Fenced):
        await jobs.end(ONE, run, row.attempt, row.fence, JobEnding("done"))


@pytest.mark.req("http-worker-hostile")
@pytest.mark.parametrize("shift", [-600_000, 600_000, 2**50])
async def test_the_clock_of_a_worker_ends_no_reservation_of_others(jobs: Jobs, shift: int) -> None:
    row, run = await held(jobs)
    now, budget = jobs.world.clock.now(), jobs.storage.budget
    need, limit = Amount(tokens=10), SpendingLimit(tokens=15)
    await budget.reserve([Reservation("run:another", 1, need, limit, now, now + EXPIRES_MS)])
    records, at = JobRecords(jobs), now + shift
    account = f"run:{run}"
    mine = Reservation(account, 2, need, limit, at, at + 2**51)
    await records.spend(row, Spending(reservations=[mine]), "")
    assert (await budget.spent("run:another", now + 1)).reserved.tokens == 10
    assert (await budget.spent(account, jobs.world.clock.now())).reserved.tokens == 10
    later = jobs.world.clock.now() + EXPIRES_MS + 1
    assert (await budget.spent(account, later)).reserved.tokens == 0, "and it keeps none for ever"


@pytest.mark.req("http-worker-hostile")
async def test_what_a_worker_says_of_a_job_that_another_one_holds_changes_nothing(
    jobs: Jobs,
) -> None:
    row, run = await held(jobs)
    before = jobs.queue.get(run)
    for attempt in (row.attempt - 1, row.attempt, row.attempt + 1):
        for fence in (0, row.fence - 1, row.fence, row.fence + 1):
            with pytest.raises(Fenced):
                jobs.held(OTHER, run, attempt, fence)
            if (attempt, fence) != (row.attempt, row.fence):
                with pytest.raises(Fenced):
                    jobs.held(ONE, run, attempt, fence)
    assert jobs.queue.get(run) == before

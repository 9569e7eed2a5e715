"""The worker protocol: jobs for workers over HTTP, leased one by one.

Every call of a worker names its attempt and its fencing token. The server answers 409 for any
other than the present one, with the code ``fenced``: the worker then stops and records nothing.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from artificer.core.submission import FIRST, LAST, USUAL
from artificer.studio.api.declared import ApiRequest, LongText, ShortName
from artificer.studio.jobs.exchange import Beat, JobEnding, LeasedJob
from artificer.studio.jobs.rows import JobPlace, JobRow, JobState, next_page

MAX_WAIT = 30
"""Seconds that a request waits for a job, or for signals."""

WholeNumber = Annotated[int, Meta(ge=0, le=2**53)]

RequestName = Annotated[str, Meta(max_length=64)]

PlaceText = Annotated[str, Meta(pattern=r"^[0-9]{1,16}(:|$)", max_length=220)]

RunNames = Annotated[tuple[ShortName, ...], Meta(max_length=1_000)]


class JobBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A run that has started, for a worker to execute. Priority 1 is the first, 5 the last.

    After ``attempts`` failures in a row the job is a dead letter.
    """

    run: Annotated[str, Meta(min_length=1, max_length=200)]
    priority: Annotated[int, Meta(ge=FIRST, le=LAST)] = USUAL
    attempts: Annotated[int, Meta(ge=1, le=100)] = 5


class JobsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to ``limit`` jobs in a state, or in any, newest first, starting after a place.

    The place is the ``next`` of the previous page, or a time in milliseconds.
    """

    state: JobState | None = None
    before: PlaceText | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class LeaseBody(Struct, frozen=True, forbid_unknown_fields=True):
    """How long a lease lasts without a heartbeat, and how long to wait for a job, in seconds.

    ``request`` names the request: one that is sent again, because its answer was lost, gets the
    same job.
    """

    request: RequestName = ""
    seconds: Annotated[int, Meta(ge=1, le=600)] = 30
    wait: Annotated[int, Meta(ge=0, le=MAX_WAIT)] = 0


class HeldBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A lease: its attempt and its fencing token."""

    attempt: WholeNumber
    fence: WholeNumber


class BeatBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """A lease, and the last signal to its run that the worker has seen."""

    signal: WholeNumber = 0


class CompleteBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """A run's outcome: it has ended, or waits for a signal, ``seconds`` or ``runs``."""

    outcome: Literal["done", "parked", "children"] = "done"
    seconds: Annotated[float, Meta(ge=0, le=31_536_000)] | None = None
    runs: RunNames = ()


class FailBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """Why the worker could not execute the run."""

    error: LongText


class JobAnswer(Struct, frozen=True):
    """A job. Times are milliseconds since 1970-01-01 UTC; 0 if there is none.

    ``failures`` counts failed attempts since the last success; ``error`` is from the last one.
    """

    run: str
    state: JobState
    priority: int
    submitted: int
    due: int
    attempt: int
    failures: int
    attempts: int
    worker: str
    expires: int
    error: str
    tenant: str
    lane: str


class JobPage(Struct, frozen=True):
    """A page of jobs, newest first. ``next`` is the ``before`` of the next page, or null."""

    jobs: tuple[JobAnswer, ...]
    next: str | None


class LimitOfRequests(Struct, frozen=True):
    """A limit of the requests to a provider or a ``provider/model``: it is ``of`` that."""

    of: str
    name: str
    count: int
    period_s: float | None


class LeaseAnswer(Struct, frozen=True):
    """A job that is now leased to the sender; null if there was none.

    ``limits`` are shared by all workers of the world: a request to a model needs a permit
    under each limit of its provider and its model.
    """

    job: LeasedJob | None
    limits: tuple[LimitOfRequests, ...]


async def submit_job(request: ApiRequest) -> JobAnswer:
    """Submit a run for workers. A job that waits or is leased is not changed."""
    body: JobBody = request.body
    return answer(await request.context.jobs.submit(body.run, body.priority, body.attempts))


async def list_jobs(request: ApiRequest) -> JobPage:
    """List the jobs of a state, or all, newest first; `dead` ones are the dead letters."""
    query: JobsQuery = request.query
    before = JobPlace.of(query.before) if query.before is not None else None
    found = request.context.jobs.queue.page(query.state, before, query.limit)
    return JobPage(tuple(answer(row) for row in found), next_page(found, query.limit))


async def show_job(request: ApiRequest) -> JobAnswer:
    """Show a job."""
    return answer(request.context.jobs.queue.get(request.named("run")))


async def requeue_job(request: ApiRequest) -> JobAnswer:
    """Requeue a dead letter, or a job that is parked or has ended."""
    row = request.context.jobs.queue.get(request.named("run"))
    return answer(await request.context.jobs.submit(row.run, row.priority, row.attempts))


async def lease_job(request: ApiRequest) -> LeaseAnswer:
    """Lease the next job, waiting for one if there is none."""
    body: LeaseBody = request.body
    jobs, actor, gone = request.context.jobs, request.actor, request.http.is_disconnected
    with jobs.waiting(actor.sender):
        job = await jobs.lease(actor, body.request, body.seconds, body.wait, gone)
    limits = [
        LimitOfRequests(of, limit.name, limit.count, limit.period_s)
        for of, found in jobs.permits.limits.items()
        for limit in found
    ]
    return LeaseAnswer(job, tuple(limits))


async def beat_job(request: ApiRequest) -> Beat:
    """Renew a lease; learn its new end, the last signal, and whether to cancel."""
    return await request.context.jobs.heartbeat(held(request), request.body.signal)


async def complete_job(request: ApiRequest) -> JobAnswer:
    """End an attempt successfully: the run has ended, or waits. Repeating this has no effect."""
    body: CompleteBody = request.body
    return await _ended(request, JobEnding(body.outcome, body.seconds, body.runs))


async def fail_job(request: ApiRequest) -> JobAnswer:
    """End a failed attempt. Repeating this has no effect."""
    return await _ended(request, JobEnding(error=request.body.error[:2_000]))


async def release_job(request: ApiRequest) -> JobAnswer:
    """Give a job back, as when a worker shuts down: the next lease comes at once."""
    return answer(await request.context.jobs.release(held(request)))


def held(request: ApiRequest) -> JobRow:
    """Return the job of a path, leased as the body or the query says. Raises Fenced."""
    lease: HeldBody = request.body if request.body is not None else request.query
    jobs = request.context.jobs
    return jobs.held(request.actor, request.named("run"), lease.attempt, lease.fence)


async def _ended(request: ApiRequest, ending: JobEnding) -> JobAnswer:
    body: HeldBody = request.body
    run, jobs = request.named("run"), request.context.jobs
    return answer(await jobs.end(request.actor, run, body.attempt, body.fence, ending))


def answer(row: JobRow) -> JobAnswer:
    """Return what a program sees of a job."""
    return JobAnswer(**{name: getattr(row, name) for name in JobAnswer.__struct_fields__})

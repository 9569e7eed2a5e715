"""Endpoints for a job's worker to read and write before it acts: records, blobs, budgets."""

from __future__ import annotations

import base64

from starlette.responses import Response

from artificer.errors import InvalidValueError
from artificer.ports import (
    Amount,
    Head,
    Record,
    Reservation,
    Settlement,
    Spending,
    SpendingLimit,
)
from artificer.studio.api import worker_data as d
from artificer.studio.api.declared import ApiRequest
from artificer.studio.api.jobs import held

PAGE_SIGNALS = 200
"""Signals of one answer."""


async def acquire_run(request: ApiRequest) -> d.AcquiredAnswer:
    """Acquire the run of a job again, or one that it starts: a new epoch."""
    body: d.AcquireBody = request.body
    row, jobs = held(request), request.context.jobs
    request.context.records.own(row, body.of)
    head = None if body.head is None else _head(body.head)
    lease, former = await jobs.leasing.acquire(row, body.of, head)
    return d.AcquiredAnswer(lease.epoch, lease.head, former)


async def give_up_run(request: ApiRequest) -> d.NothingAnswer:
    """Release a run of a job: the worker has ended all work on it."""
    body: d.GiveUpBody = request.body
    await request.context.records.give_up(held(request), body.of, body.epoch)
    return d.NothingAnswer()


async def append_records(request: ApiRequest) -> d.HeadAnswer:
    """Append records to a run of a job: durable when this is answered."""
    body: d.AppendBody = request.body
    row, records = held(request), request.context.records
    head = await records.append(
        row,
        body.epoch,
        _head(body.head),
        [Record(body.of, one.seq, one.hash, _bytes(one.body)) for one in body.records],
        [base64.b64decode(one) for one in body.blobs],
        _spending(body.spending),
        run=body.of,
        is_repeated=body.repeated,
    )
    return d.HeadAnswer(head)


async def read_records(request: ApiRequest) -> d.RecordAnswers:
    """Read records of a run of a job."""
    query: d.RecordsQuery = request.query
    row = held(request)
    found = await request.context.records.read(row, query.of, query.after, query.limit)
    page, size = list[d.RecordBody](), 0
    for record in found:
        size += len(record.body)
        if page and size > d.PAGE_BYTES:
            break
        page.append(d.RecordBody(record.seq, record.hash, record.body.decode()))
    return d.RecordAnswers(tuple(page), len(page) == query.limit or len(page) < len(found))


async def put_blob(request: ApiRequest) -> d.BlobAnswer:
    """Store a blob of a job."""
    row, data = held(request), base64.b64decode(request.body.data)
    return d.BlobAnswer(await request.context.records.put_blob(row, data))


async def get_blob(request: ApiRequest) -> Response:
    """Return a blob of a job: its own, or one that its records refer to."""
    data = await request.context.records.get_blob(held(request), request.named("blob"))
    return Response(data, media_type="application/octet-stream")


async def read_signals(request: ApiRequest) -> d.SignalAnswers:
    """Read the signals to a run of a job."""
    query: d.SignalsQuery = request.query
    found = await request.context.records.signals(held(request), query.of, query.after)
    page = [d.SignalAnswer(n, base64.b64encode(body).decode()) for n, body in found[:PAGE_SIGNALS]]
    return d.SignalAnswers(tuple(page), len(found) > PAGE_SIGNALS)


async def post_signal(request: ApiRequest) -> d.PostedAnswer:
    """Post a signal to a run of a job, as a run does to its children."""
    body: d.SignalBody = request.body
    row, data = held(request), base64.b64decode(body.body)
    return d.PostedAnswer(await request.context.records.post(row, body.of, data, body.request))


async def wait_for_signals(request: ApiRequest) -> d.SinceAnswer:
    """Wait for signals to the runs that the sender has leased."""
    query: d.SinceQuery = request.query
    jobs, actor = request.context.jobs, request.actor
    with jobs.waiting(actor.sender):
        position, runs = await jobs.since(actor, query.position, query.wait)
    return d.SinceAnswer(position, tuple(runs))


async def spend_budget(request: ApiRequest) -> d.NothingAnswer:
    """Settle and reserve in the accounts of a job."""
    body: d.SpendBody = request.body
    await request.context.records.spend(held(request), _spending(body.spending), body.request)
    return d.NothingAnswer()


async def show_account(request: ApiRequest) -> d.SpentAnswer:
    """Show what an account of a job has spent."""
    query: d.AccountQuery = request.query
    spent = await request.context.records.spent(held(request), query.account, query.now)
    return d.SpentAnswer(spent.settled, spent.reserved)


async def show_version(request: ApiRequest) -> d.VersionAnswer:
    """Show a version of a workspace that a job may see."""
    query: d.VersionQuery = request.query
    row, records = held(request), request.context.records
    found = await records.version(row, query.name, query.number, query.of)
    return d.VersionAnswer(*(found or (None, None)))


async def add_version(request: ApiRequest) -> d.AddedAnswer:
    """Add a version of a workspace that a job may change, if its number is the next."""
    body: d.VersionBody = request.body
    row, records = held(request), request.context.records
    added = await records.add_version(row, body.name, body.number, body.digest, body.of)
    return d.AddedAnswer(added)


async def list_workspaces(request: ApiRequest) -> d.WorkspaceNames:
    """List the workspaces that a job may see."""
    row, records = held(request), request.context.records
    return d.WorkspaceNames(tuple(await records.workspaces(row, request.query.of)))


def _head(place: d.PlaceBody) -> Head:
    return Head(seq=place.seq, hash=place.hash)


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError("A record", "", "holds a lone surrogate") from error


def _amount(body: d.AmountBody) -> Amount:
    return Amount(body.tokens, body.micros)


def _spending(body: d.SpendingBody) -> Spending:
    settlements = [Settlement(s.account, s.number, _amount(s.cost)) for s in body.settlements]
    reservations = [
        Reservation(
            *(one.account, one.number, _amount(one.need)),
            *(SpendingLimit(one.limit.tokens, one.limit.micros), one.at, one.until),
        )
        for one in body.reservations
    ]
    return Spending(settlements, reservations)

"""The permits of shared limits, for workers over HTTP: taken, renewed and given back."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.ports import Permit
from artificer.studio.api import worker_data as d
from artificer.studio.api.declared import ApiRequest
from artificer.studio.api.jobs import held


async def take_permit(request: ApiRequest) -> d.PermitAnswer:
    """Take a permit for a request to a model, under all limits that are named or under none."""
    body: d.PermitBody = request.body
    row, jobs = held(request), request.context.jobs
    seconds = jobs.reach.permit_s(body.seconds, row.seconds)
    found = await request.context.records.once(
        row,
        body.request,
        lambda: jobs.permits.take(row, body.permit, body.limits, seconds),
    )
    return d.PermitAnswer(found.name if found else None, found.seconds if found else 0.0)


async def renew_permits(request: ApiRequest) -> d.NothingAnswer:
    """Extend permits of a job; a lost one is taken again."""
    body: d.RenewBody = request.body
    row, jobs = held(request), request.context.jobs
    seconds = jobs.reach.permit_s(body.seconds, row.seconds)
    await jobs.permits.renew(row, _permits(body.permits), seconds)
    return d.NothingAnswer()


async def give_back_permits(request: ApiRequest) -> d.NothingAnswer:
    """End permits of a job, even after its lease, if that was the last one."""
    body: d.GiveBackBody = request.body
    jobs, run = request.context.jobs, request.named("run")
    row = jobs.ended(request.actor, run, body.attempt, body.fence)
    await jobs.permits.give_back(row, _permits(body.permits))
    return d.NothingAnswer()


async def list_limits(request: ApiRequest) -> d.LimitStandings:
    """List the limits of requests to models, and how much of each is taken now."""
    permits = request.context.jobs.permits
    counts = await permits.held()
    return d.LimitStandings(
        tuple(
            d.LimitStanding(name, limit.count, limit.period_s, counts.get(name, 0))
            for name, limit in sorted(permits.by_name.items())
        )
    )


def _permits(held: Sequence[d.HeldPermit]) -> list[Permit]:
    return [Permit(each.permit, each.limits) for each in held]

"""The pages and the forms of the studio, each with the right that it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from artificer.studio.context import actor_of, context_of
from artificer.studio.tokens import TokenScope
from artificer.studio.views import (
    artifacts,
    attached,
    begin,
    checklists,
    compare,
    decide,
    files,
    home,
    inbox,
    jobs,
    proof,
    records,
    reports,
    run,
    runs,
    search,
    sources,
    tree,
)

PageView = Callable[[Request], Awaitable[Response]]


def _page(path: str, view: PageView) -> Route:
    """Return the route of a page."""
    return Route(path, _needing("read", _counting(view)))


def _part(path: str, view: PageView) -> Route:
    """Return the route of a part of a page, a file, or a stream."""
    return Route(path, _needing("read", view))


def _form(path: str, view: PageView, right: TokenScope) -> Route:
    """Return the route of a form that people send."""
    return Route(path, _needing(right, _counting(view)), methods=["POST"])


def _counting(view: PageView) -> PageView:
    """Return a view whose page says how many runs wait for a person."""

    async def counted(request: Request) -> Response:
        request.state.inbox = await context_of(request).inbox.get()
        return await view(request)

    return counted


def _needing(right: TokenScope, view: PageView) -> PageView:
    async def checked(request: Request) -> Response:
        actor_of(request).require(right)
        try:
            return await view(request)
        finally:
            await request.close()  # files that a form has brought

    return checked


ROUTES = (
    _page("/", home.show),
    _page("/inbox", inbox.show),
    _part("/inbox/count", inbox.count),
    _page("/jobs", jobs.show),
    _form("/jobs/{run}", jobs.requeue, "act"),
    _page("/search", search.show),
    _page("/runs", runs.show),
    _form("/runs", begin.submit, "act"),
    _page("/runs/{run}", run.show),
    _part("/runs/{run}/body", run.body),
    _part("/runs/{run}/report", run.report),
    _part("/runs/{run}/events", run.events),
    _page("/verify", proof.offer),
    _form("/verify", proof.verify, "admin"),
    _page("/runs/{run}/replay", proof.show),
    _form("/runs/{run}/replay", proof.replay, "read"),
    _page("/runs/{run}/records", records.timeline),
    _page("/runs/{run}/records/{seq}", records.record),
    _form("/runs/{run}/records/{seq}/fork", records.fork, "act"),
    _page("/compare", compare.show),
    _page("/runs/{run}/compare", compare.choose),
    _page("/runs/{run}/sources", sources.show),
    _page("/runs/{run}/sources/{artifact:path}", sources.artifact),
    _page("/runs/{run}/tree", tree.show),
    _page("/runs/{run}/tree/{seq}", tree.change),
    _form("/runs/{run}/decisions/{kind}", decide.decide, "approve"),
    _page("/runs/{run}/checklists", checklists.show),
    _part("/runs/{run}/checklists/changes", checklists.changes),
    _form("/runs/{run}/checklists/{checklist}", checklists.tick, "act"),
    _page("/runs/{run}/files/{digest}", attached.show),
    _part("/runs/{run}/files/{digest}/data", attached.send),
    _page("/runs/{run}/export/{form}", files.report),
    _part("/runs/{run}/report/{seq}", reports.frame),
    _page("/runs/{run}/artifacts", artifacts.overview),
    _page("/runs/{run}/artifacts/report", reports.show),
    _page("/runs/{run}/artifacts/report/changes", reports.changes),
    _page("/runs/{run}/artifacts/{artifact:path}", artifacts.show),
    _form("/runs/{run}/{action}", run.act, "act"),
)
"""Every page and form but those of the API; the first that matches counts."""

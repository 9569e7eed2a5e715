"""The list of runs: filters and pages."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from artificer.runtime.listing.lister import RunFilter
from artificer.runtime.listing.rows import ENDED, STANDING
from artificer.studio.context import context_of
from artificer.studio.pages import page

SHOWN = 50
"""Runs on a page."""

MAX_WORD = 200
"""Characters of a filter that count."""

STATUSES = sorted({*STANDING, "queued"}) + sorted(ENDED)

FIELDS = ("text", "status", "model", "agent", "since", "until", "waiting", "below")
"""The filters, as the form and the address name them."""


async def show(request: Request) -> Response:
    """Show the runs that a person wants to see, newest first."""
    wanted = {name: request.query_params.get(name, "").strip()[:MAX_WORD] for name in FIELDS}
    before = request.query_params.get("before", "")[:MAX_WORD] or None
    archive = context_of(request).world.archive
    listing = await archive.list_runs(SHOWN, before, at_once=True, **_filter(wanted))
    kept = {name: value for name, value in wanted.items() if value}
    values = {
        "listing": listing,
        "wanted": wanted,
        "statuses": STATUSES,
        "filtered": bool(kept),
        "newest": f"/runs?{urlencode(kept)}" if before else "",
        "older": f"/runs?{urlencode({**kept, 'before': listing.next})}" if listing.next else "",
    }
    return page(request, "runs", values)


def _filter(wanted: dict[str, str]) -> RunFilter:
    """Return what a form asks for. A date that nobody can read is none."""
    return {
        "text": wanted["text"],
        "status": wanted["status"] or None,
        "model": wanted["model"],
        "agent": wanted["agent"],
        "since": _midnight(wanted["since"]) or 0,
        "until": _midnight(wanted["until"], 1),
        "waiting": bool(wanted["waiting"]),
        "builds": any(wanted[name] for name in ("below", "waiting", "agent")),
    }


def _midnight(text: str, days: int = 0) -> int | None:
    """Return when a day of UTC begins, or one some days later; None if the text is not a day."""
    try:
        day = date.fromisoformat(text) + timedelta(days=days)
    except (ValueError, OverflowError):
        return None
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)

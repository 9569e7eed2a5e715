"""Search over runs and messages."""

from __future__ import annotations

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from artificer.runtime.listing.search import Hit
from artificer.studio.context import context_of
from artificer.studio.pages import page
from artificer.studio.words import visible

MAX_HITS = 50
"""Records that are found at a time."""


async def show(request: Request) -> Response:
    """Show the records that hold the words."""
    words = request.query_params.get("q", "").strip()
    hits = await context_of(request).world.archive.search(words, MAX_HITS) if words else []
    found = [(hit, marked(hit)) for hit in hits]
    return page(request, "search", {"words": words, "found": found, "most": MAX_HITS})


def marked(hit: Hit) -> Markup:
    """Return a snippet with its words marked."""
    pieces, end = list[Markup](), 0
    for begin, until in hit.marks:
        pieces += [escape(visible(hit.snippet[end:begin])), Markup("<mark>")]
        pieces += [escape(visible(hit.snippet[begin:until])), Markup("</mark>")]
        end = until
    return Markup("").join([*pieces, escape(visible(hit.snippet[end:]))])

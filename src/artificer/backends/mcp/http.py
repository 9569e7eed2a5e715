"""The HTTP client for MCP servers, with a limit on the size of responses."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2

from artificer.system.http_bounds import bounds
from artificer.system.tls import shared_context


def bounded_client(
    headers: Mapping[str, str], limit: int, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """A client whose responses have at most ``limit`` bytes, streams of events excepted."""
    return httpx2.AsyncClient(
        headers=dict(headers),
        auth=auth,
        timeout=httpx2.Timeout(30, read=300),
        verify=shared_context(),
        event_hooks=bounds(limit, _asks_for_events),
        trust_env=False,
    )


def _asks_for_events(request: httpx2.Request) -> bool:
    """Whether the SDK reads the answer event by event, and not whole, as for an authorization."""
    return "text/event-stream" in request.headers.get("accept", "")

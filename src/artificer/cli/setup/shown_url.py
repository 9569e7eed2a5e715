"""The URL of a world or a dispatcher for display, without a password or a key."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

_SHOWN = frozenset(
    ("schema", "blobs", "host", "hostaddr", "port", "dbname", "user", "service", "queue", "beat")
)
"""The parameters that hold no secret."""


def shown_url(url: str) -> str:
    """Return a URL with its user, its place and its harmless parameters; of others the scheme."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return f"{url.partition(':')[0]}://…"
    if parts.netloc.count("@") > 1 or "@" in parts.path:  # a password may be in the wrong part
        return f"{parts.scheme}://…"
    user = f"{parts.username}@" if parts.username else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    query = [f"{key}={value}" for key, value in parse_qsl(parts.query) if key in _SHOWN]
    return f"{parts.scheme}://{user}{host}{port}{parts.path}" + (
        f"?{'&'.join(query)}" if query else ""
    )

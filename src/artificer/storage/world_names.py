"""The names of worlds that have no id of their own, from the URLs at which they are."""

from __future__ import annotations

import hashlib


def name_from_url(path: str, schema: str) -> str:
    """Return a name for a world in a schema of the database that is the path of a URL."""
    return hashlib.sha256(f"{path} {schema}".encode()).hexdigest()[:12]

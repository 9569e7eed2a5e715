"""The names of worlds without an id, derived from their URLs."""

from __future__ import annotations

import hashlib


def name_from_url(path: str, schema: str) -> str:
    """Return a name for a world in a schema of the database that is the path of a URL."""
    return hashlib.sha256(f"{path} {schema}".encode()).hexdigest()[:12]

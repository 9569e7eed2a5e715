"""The names of blobs. A digest may come from a model or a file, so it is checked before use."""

from __future__ import annotations

import re

from artificer.errors import NotFoundError

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


def hex_of(digest: str) -> str | None:
    """Return a digest's 64 hexadecimal digits, or None if it is not a digest."""
    match = _DIGEST.fullmatch(digest)
    return match[1] if match else None


def not_found(digest: str) -> NotFoundError:
    """Return the error for a digest that names no stored blob."""
    if hex_of(digest) is None:
        return NotFoundError(
            f"{digest[:80]!r} is not a digest.", hint="A digest is sha256: and 64 hex digits."
        )
    return NotFoundError(f"Blob {digest} does not exist.")

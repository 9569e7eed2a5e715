"""The seam to time and identity."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time and identity, the only sources of what a replay could not compute."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""

    def new_run_id(self) -> str:
        """A fresh run id: sortable by time, ``[a-z0-9-]``."""

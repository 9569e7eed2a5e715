"""The base of what people write in manifests and settings: every mistake is explained, with its
place.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class KeyTable(BaseModel):
    """A table of a file: frozen, strict about types, closed against unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changes, which are not checked."""
        return self.model_copy(update=changes)

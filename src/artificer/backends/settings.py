"""The base of the settings of a backend."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BackendSettings(BaseModel):
    """A table of ``artificer.toml`` for a backend: closed against unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

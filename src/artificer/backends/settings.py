"""The base of the settings of a backend that an installed package adds."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BackendSettings(BaseModel):
    """A table ``[backends.NAME]`` of ``artificer.toml``: closed against unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

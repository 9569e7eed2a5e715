"""The registration of the backend ``[sqlite]``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from artificer.extend import Backend, BackendSettings, on_call
from artificer_plugin.spec import SqliteSection


class SqliteSettings(BackendSettings):
    """``[backends.sqlite]`` of ``artificer.toml``: the most rows that a result has."""

    max_rows: Annotated[int, Field(gt=0)] = 100


BACKEND = Backend(
    section=SqliteSection(),
    settings=SqliteSettings,
    executors=on_call("artificer_plugin.executor:executors"),
)

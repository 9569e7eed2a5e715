"""The servers that hand out runs, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from temporal_server import TemporalServer


@pytest.fixture(scope="session")
def server() -> Iterator[TemporalServer]:
    with TemporalServer.running() as started:
        yield started

"""The server that hands out runs. It works even while nobody asks, so it ends with its module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from temporal_server import TemporalServer


@pytest.fixture(scope="module")
def server() -> Iterator[TemporalServer]:
    with TemporalServer.running() as started:
        yield started

"""The embedded model's server, started once for all tests of providers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from artificer.providers.local_fetch import model_path
from artificer.providers.local_process import Address, LocalServer
from needs import require

MODEL = model_path(Path(os.environ.get("ARTIFICER_HOME", "~/.artificer")).expanduser())


@pytest.fixture(scope="session")
def server() -> Iterator[LocalServer]:
    """The server. A test that kills it finds another one in its place."""
    require("xllamacpp")
    require("the embedded model", MODEL.exists())
    running = LocalServer(MODEL)
    yield running
    asyncio.run(running.stop())


@pytest.fixture
def address(server: LocalServer) -> Address:
    """Its address now."""
    return asyncio.run(server.address())

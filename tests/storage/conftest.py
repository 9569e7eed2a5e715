"""Servers that storages need, one of each for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from object_server import ObjectServer, objects
from postgres_server import PostgresServer, postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server. Tests that stop it start it again."""
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    """An S3 server, which the environment names."""
    with objects() as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", server.endpoint)
        environment.setenv("AWS_ALLOW_HTTP", "true")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            environment.setenv(name, "test")
        yield server

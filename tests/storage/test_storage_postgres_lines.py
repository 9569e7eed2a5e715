"""How soon a connection to PostgreSQL notices that its line is cut: what it gets."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from postgres_server import PostgresServer
from psycopg import Connection
from tcp_line import TcpLine, tcp_line

import preloaded
from artificer.storage.postgres.connection import Database, Server
from artificer.storage.postgres.line_limits import limits
from artificer.storage.postgres.owner_leases import TIMEOUT_SECONDS

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("postgres-cut-lines")]

NOTICED_SECONDS = 25
"""How long a cut line may look as if nobody had anything to say."""

OPTIONS = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")


@pytest.fixture(scope="module")
def line(postgres_server: PostgresServer) -> Iterator[TcpLine]:
    place = parse_qs(urlsplit(postgres_server.url("x")).query)["host"][0]

    def connect() -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(Path(place) / ".s.PGSQL.5432"))
        return server

    with tcp_line(connect) as line:
        yield line


def database(line: TcpLine, more: str = "") -> Database:
    url = f"postgresql://artificer@{line.place}/postgres?schema=lines&sslmode=disable{more}"
    return Database.parse(url, "power", read_only=False)


def options(db: Connection) -> list[int]:
    """The limits of a connection in the kernel: keepalives, and for data that is not confirmed."""
    with socket.socket(fileno=os.dup(db.fileno())) as found:
        if not found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE):
            return []
        return [found.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in OPTIONS]


def test_each_connection_notices_a_cut_line_in_time(line: TcpLine) -> None:
    server = Server(database(line))
    server.open()
    with database(line).connect() as ours:
        for found in (options(ours), server.read(options)):
            idle, interval, count, unconfirmed = found
            assert idle + interval * count == NOTICED_SECONDS
            assert unconfirmed <= NOTICED_SECONDS * 1000
    server._pool.close()
    with database(line).connect(TIMEOUT_SECONDS) as leases:
        idle, interval, count, unconfirmed = options(leases)
        assert idle + interval * count == TIMEOUT_SECONDS == unconfirmed / 1000


def test_the_url_and_the_environment_may_say_otherwise(
    line: TcpLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(line, "&keepalives_idle=60&tcp_user_timeout=7000").connect() as db:
        assert options(db) == [60, 5, 3, 7000]
    with database(line, "&keepalives=0").connect() as db:
        assert options(db) == []
    assert limits("host=a")["connect_timeout"] == 10
    assert "connect_timeout" not in limits("host=a connect_timeout=99")
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "99")
    assert "connect_timeout" not in limits("host=a")


LOSES_ITS_SERVER = """
import sys
import psycopg
import artificer.storage.postgres.connection

url = sys.argv[1]
with psycopg.connect(url, autocommit=True) as other:
    db = psycopg.connect(url, autocommit=True)
    try:
        with db.pipeline():
            db.execute("SELECT 1").fetchone()
            other.execute("SELECT pg_terminate_backend(%s, 10000)", (db.info.backend_pid,))
            db.execute("SELECT 2").fetchone()
    except psycopg.OperationalError:
        print("lost")
"""


@pytest.mark.req("postgres-own-words")
def test_a_library_does_not_tell_the_user_that_the_server_is_gone(line: TcpLine) -> None:
    """It is an error, which is told in our words."""
    program = ["-c", LOSES_ITS_SERVER, database(line).conninfo]
    done = preloaded.run(program, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("lost\n", "")

"""The servers of a cluster: real ones, killed and started again as often as a trial wants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol
from urllib.parse import urlsplit

from cluster_hosts import Address, Hosts  # it adds the servers of the tests
from object_server import ObjectServer
from postgres_server import PostgresServer, postgres
from program_server import free_ports
from temporal_server import TemporalServer

BUCKET = "worlds"


class Server(Protocol):
    """A server that can be killed and started again."""

    def start(self) -> object: ...
    def stop(self) -> None: ...


@dataclass(frozen=True)
class Servers:
    """The servers, by their names, and where each of them listens."""

    running: dict[str, Server]
    addresses: dict[str, Address]

    def world(self, name: str, postgres: Address) -> str:
        """The URL of a world, for who reaches the database at an address."""
        host, port = postgres
        where = f"postgresql://artificer@{host}:{port}/postgres"
        return f"{where}?schema={name}&blobs=s3://{BUCKET}/{name}"


@contextmanager
def serving(hosts: Hosts, temporal: bool) -> Iterator[Servers]:
    """Start the servers. PostgreSQL syncs every commit."""
    with ExitStack() as stack:
        found: dict[str, Server] = {}
        where: dict[str, Address] = {}
        database, where["postgres"] = stack.enter_context(_postgres(hosts.ips["postgres"]))
        objects = stack.enter_context(ObjectServer.running(hosts.ips["objects"]))
        found |= {"postgres": database, "objects": objects}
        where["objects"] = _address(objects.endpoint)
        if temporal:
            other = stack.enter_context(TemporalServer.running(hosts.ips["temporal"]))
            found["temporal"] = other
            where["temporal"] = _address(f"//{other.address}")
        yield Servers(found, where)


@contextmanager
def _postgres(ip: str) -> Iterator[tuple[PostgresServer, Address]]:
    (port,) = free_ports(1, ip)
    with TemporaryDirectory(prefix="access", dir="/tmp") as name:
        folder, access = Path(name), Path(name) / "pg_hba.conf"
        folder.chmod(0o755)
        access.write_text("local all all trust\nhost all all samenet trust\n")
        settings = f"-c listen_addresses={ip} -c port={port} -c max_connections=200"
        with postgres(f"{settings} -c hba_file={access}") as server:
            yield server, (ip, port)


def _address(url: str) -> Address:
    parts = urlsplit(url)
    assert parts.hostname is not None and parts.port is not None
    return parts.hostname, parts.port

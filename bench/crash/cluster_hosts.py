"""Hosts on one machine: network namespaces with cables that can be cut, or else relays.

A host of `Namespaces` has its own network, name, machine id and boot id. To each server it has a
cable of its own: when that is cut, packets are lost and nobody is told. `Relays` need no rights:
their hosts differ in their folders only, and what is cut stands still until it is mended.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

TESTS = Path(__file__).parents[2] / "tests"
sys.path += [str(TESTS), str(TESTS / "servers")]

from cut_line import end  # noqa: E402

Address = tuple[str, int]

SERVERS = ("postgres", "objects", "temporal")


class Hosts(ABC):
    """The hosts of a trial. ``ips`` is where each server has to listen."""

    ips: dict[str, str]

    def at(self, host: int, server: str, real: Address) -> Address:
        """Where a host reaches a server that listens at an address."""
        return real

    def within(self, host: int, folder: Path, command: Sequence[str]) -> list[str]:
        """The command that runs a command on a host, in a folder, as the same process."""
        return ["env", "-C", str(folder), *command]

    @abstractmethod
    def cut(self, host: int, server: str) -> None:
        """Cut a host from a server."""

    @abstractmethod
    def mend(self, host: int, server: str) -> None:
        """Let it through again."""

    @abstractmethod
    def close(self) -> None:
        """End all hosts."""


# --- namespaces -------------------------------------------------------------------------------

ENTER = ("unshare", "--net", "--mount")
"""This gives a process a network of its own, in which the servers are."""


def has_namespaces() -> bool:
    """Whether this machine lets us make hosts."""
    programs = all(map(shutil.which, ("unshare", "nsenter", "ip")))
    allowed = programs and subprocess.run([*ENTER, "true"], capture_output=True, check=False)
    return os.geteuid() == 0 and bool(allowed) and allowed.returncode == 0


_BEGIN = """
hostname host-$1; ip link set lo up
[ ! -e /etc/machine-id ] || mount --bind $2/machine /etc/machine-id
mount --bind $2/boot /proc/sys/kernel/random/boot_id
echo ready; exec cat
"""
"""The first process of a host: it ends when this one does."""


class Namespaces(Hosts):
    """Hosts for a process that was started by `ENTER`: one bridge for each server."""

    def __init__(self, count: int) -> None:
        self.ips = {server: f"10.77.{n}.1" for n, server in enumerate(SERVERS)}
        _ip("link", "set", "lo", "up")
        # No connection may take the port of a server that is dead.
        Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("41000 60999")
        for server in SERVERS:
            _ip("link", "add", server, "type", "bridge")
            _ip("address", "add", f"{self.ips[server]}/24", "dev", server)
            _ip("link", "set", server, "up")
        self._folder = TemporaryDirectory(prefix="hosts")
        self._first = [self._begin(host) for host in range(count)]

    def _begin(self, host: int) -> subprocess.Popen[bytes]:
        folder = Path(self._folder.name) / str(host)
        folder.mkdir()
        (folder / "machine").write_text(f"{secrets.token_hex(16)}\n")
        (folder / "boot").write_text(f"boot-{secrets.token_hex(16)}\n")
        command = [*ENTER, "--uts", "sh", "-ec", _BEGIN, "host", str(host), str(folder)]
        pipe = subprocess.PIPE
        first = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        assert first.stdout is not None
        if first.stdout.readline() != b"ready\n":
            raise SystemExit("a host cannot be made")
        for n, server in enumerate(SERVERS):
            cable = _cable(host, server)
            peer = ("peer", "name", server, "netns", str(first.pid))
            _ip("link", "add", cable, "type", "veth", *peer)
            _ip("link", "set", cable, "master", server, "up")
            there = ("nsenter", "-t", str(first.pid), "--net")
            _ip("address", "add", f"10.77.{n}.{11 + host}/24", "dev", server, within=there)
            _ip("link", "set", server, "up", within=there)
        return first

    def within(self, host: int, folder: Path, command: Sequence[str]) -> list[str]:
        enter = ["nsenter", "-t", str(self._first[host].pid), "--net", "--uts", "--mount", "--"]
        return [*enter, *super().within(host, folder, command)]

    def cut(self, host: int, server: str) -> None:
        _ip("link", "set", _cable(host, server), "down")

    def mend(self, host: int, server: str) -> None:
        _ip("link", "set", _cable(host, server), "up")

    def close(self) -> None:
        for first in self._first:
            first.kill()
            first.wait()
        self._folder.cleanup()


def _cable(host: int, server: str) -> str:
    return f"h{host}-{server}"


def _ip(*words: str, within: Sequence[str] = ()) -> None:
    subprocess.run([*within, "ip", *words], check=True)


# --- relays -----------------------------------------------------------------------------------


class Relays(Hosts):
    """Hosts that are folders, and a relay from each of them to each server."""

    def __init__(self, count: int) -> None:
        self.ips = dict.fromkeys(SERVERS, "127.0.0.1")
        self._relays: dict[tuple[int, str], Relay] = {}

    def at(self, host: int, server: str, real: Address) -> Address:
        if (host, server) not in self._relays:
            self._relays[host, server] = Relay(real)
        return "127.0.0.1", self._relays[host, server].port

    def cut(self, host: int, server: str) -> None:
        self._relays[host, server].through.clear()

    def mend(self, host: int, server: str) -> None:
        self._relays[host, server].through.set()

    def close(self) -> None:
        for relay in self._relays.values():
            relay.close()


class Relay:
    """Connections to a server, which stand still while ``through`` is not set."""

    def __init__(self, target: Address) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.through = threading.Event()
        self.through.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept nothing more."""
        end(self._listening)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self.through.wait()
        with _ended(client), suppress(OSError):
            server = socket.create_connection(self._target)
            with _ended(server):
                back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
                back.start()
                self._pump(client, server)
                back.join()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self.through.wait()
                sink.sendall(data)
        self.through.wait()
        end(source, sink)


@contextmanager
def _ended(one: socket.socket) -> Iterator[None]:
    try:
        yield
    finally:
        end(one)

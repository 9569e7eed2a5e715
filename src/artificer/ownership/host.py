"""This machine's identity for other machines."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from artificer.ownership.process import boot_id
from artificer.ports import OwnerHost

_MACHINE = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def this_host() -> OwnerHost:
    """Return this machine: its id (machine-id(5)), or its name where it has none, and its start."""
    name = socket.gethostname()
    for path in _MACHINE:
        with suppress(OSError, ValueError):
            if machine := Path(path).read_text(encoding="ascii").strip():
                return OwnerHost(machine, boot_id() or "", name)
    return OwnerHost(name, boot_id() or "", name)

"""The seam to the leases of owners: which processes, of all machines, may execute runs."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec import Struct

LEASE_SECONDS = 30.0
"""How long an owner counts as alive without renewing its lease, unless a setting differs."""


class OwnerHost(Struct, frozen=True):
    """A machine, and its last start. ``name`` is for messages."""

    machine: str
    boot: str
    name: str = ""


class LeasedOwner(Struct, frozen=True):
    """An owner as it writes itself down: its name, its host, and a name for messages."""

    id: str
    host: OwnerHost
    who: str


class OwnerLease(Struct, frozen=True):
    """The lease of an owner: how long it lasts yet, by the storage's own clock.

    ``until`` is its end as text, for messages. ``dead`` says that a process on the owner's host has
    found the owner dead, and all that it had started.
    """

    owner: LeasedOwner
    seconds_left: float
    until: str
    dead: bool = False


class OwnerLeases(Protocol):
    """The leases of a world's owners. Every method blocks, and may be called from any thread.

    All of them raise OperatorError when the storage cannot be reached.
    """

    @property
    def world(self) -> str:
        """The name of the world: no other one has it."""

    def renew(self, owner: LeasedOwner, seconds: float) -> bool:
        """Begin an owner's lease, or extend it, from now on; return whether it had not ended.

        Raises:
            Fenced: the owner is written down as dead.
        """

    def find(self, owner: str) -> OwnerLease | None:
        """Return an owner's lease; None for an owner that has none here, or has ended it."""

    def on(self, machine: str) -> list[OwnerLease]:
        """Return the leases on a machine, also expired ones, of owners not known to be dead."""

    def end(self, owner: str, *, dead: bool) -> None:
        """Write down that an owner is ``dead``; or remove one that no run names any more."""

    def close(self) -> None:
        """Close the connection. What comes later opens another one."""


@runtime_checkable
class HasOwnerLeases(Protocol):
    """A storage that processes on several machines write."""

    @property
    def owner_leases(self) -> OwnerLeases:
        """The leases of its owners. The caller closes it."""


@runtime_checkable
class Fencing(Protocol):
    """A journal that can tell whether an epoch is still a run's last one."""

    async def check(self, run: str, epoch: int) -> None:
        """Check that nobody has acquired the run since.

        Raises:
            Fenced: somebody has.
            OperatorError: the journal cannot be read.
        """

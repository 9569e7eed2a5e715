"""The port to owner leases: which processes, on any machine, may execute runs."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec import Struct

LEASE_SECONDS = 30.0
"""How long an owner counts as alive without renewing its lease, unless a setting differs."""


class OwnerHost(Struct, frozen=True):
    """A machine and its last boot. ``name`` is for messages."""

    machine: str
    boot: str
    name: str = ""


class LeasedOwner(Struct, frozen=True):
    """An owner as it is recorded: its name, its host, and a name for messages."""

    id: str
    host: OwnerHost
    who: str


class OwnerLease(Struct, frozen=True):
    """The lease of an owner: how long it still lasts, by the storage's own clock.

    ``until`` is its end as text, for messages. ``dead`` says that a process on the owner's host has
    found that the owner and everything it started are dead.
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
        """The unique name of the world."""

    def renew(self, owner: LeasedOwner, seconds: float) -> bool:
        """Start or extend an owner's lease from now; return whether it had not ended.

        Raises:
            Fenced: the owner is recorded as dead.
        """

    def find(self, owner: str) -> OwnerLease | None:
        """Return an owner's lease, or None if it has none here or has ended it."""

    def on(self, machine: str) -> list[OwnerLease]:
        """Return a machine's leases, including expired ones, of owners not known to be dead."""

    def end(self, owner: str, *, dead: bool) -> None:
        """Record that an owner is ``dead``, or remove one that no run names any more."""

    def close(self) -> None:
        """Close the connection. A later call opens another one."""


@runtime_checkable
class HasOwnerLeases(Protocol):
    """A storage written by processes on several machines."""

    @property
    def owner_leases(self) -> OwnerLeases:
        """The leases of its owners. The caller closes it."""


@runtime_checkable
class Fencing(Protocol):
    """A journal that can check whether an epoch is still a run's latest."""

    async def check(self, run: str, epoch: int) -> None:
        """Check that no other process has acquired the run since.

        Raises:
            Fenced: another process has.
            OperatorError: the journal cannot be read.
        """

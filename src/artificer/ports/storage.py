"""The seam to storage: everything that a world keeps, as one object."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from artificer.ports.blobs import BlobStore
from artificer.ports.budget import Budget
from artificer.ports.clock import Clock
from artificer.ports.journal import Durability, Journal
from artificer.ports.signals import Signals
from artificer.ports.snapshots import Snapshots
from artificer.ports.versions import Versions


class Storage(Protocol):
    """Everything that a world keeps. It opens, shares and closes its own connections.

    ``signals``, ``budget`` and ``versions`` write notes into the chain that ``journal`` keeps;
    ``blobs`` also finds those that were appended together with records. ``snapshots`` are caches:
    they may be lost at any time.
    """

    @property
    def journal(self) -> Journal:
        """The records of all runs."""

    @property
    def blobs(self) -> BlobStore:
        """All blobs."""

    @property
    def signals(self) -> Signals:
        """The signals to runs."""

    @property
    def budget(self) -> Budget:
        """The accounts of days and builds."""

    @property
    def versions(self) -> Versions:
        """The versions of workspaces."""

    @property
    def snapshots(self) -> Snapshots:
        """Kept states of runs."""

    async def aclose(self) -> None:
        """Finish what waits and close all connections. It may be called more than once."""


@runtime_checkable
class HasWorldName(Protocol):
    """A storage whose world has a name of its own, on whichever server and under whichever URL."""

    @property
    def world_name(self) -> str:
        """The name by which other servers know the world."""


class StoragePlace(Struct, frozen=True):
    """A place where a world's storage is, or is to be made.

    ``folder`` is the project's own on this machine, ``url`` the setting ``storage``. With
    ``read_only`` nothing is made or changed, and what would write raises OperatorError;
    ``indexing`` allows it to keep its indexes all the same, where it can. ``clock`` is that of the
    world, for the times of signals; None for the system's.
    """

    folder: Path
    url: str = "sqlite"
    durability: Durability = "power"
    read_only: bool = False
    indexing: bool = False
    clock: Clock | None = None


@runtime_checkable
class StorageKind(Protocol):
    """A kind of storage, as the entry-point group ``artificer.storage`` offers it by URL scheme."""

    async def open(self, place: StoragePlace) -> Storage | None:
        """Open a world's storage, and make it when it is not there.

        None where it is not there and is only read.

        Raises:
            ConfigError: the URL or the folder cannot be used.
            TamperedError: it is damaged, or parts of it are gone.
        """

"""The port to storage: everything that a world keeps, as one object."""

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
        """Stored states of runs."""

    async def aclose(self) -> None:
        """Finish pending work and close all connections. It may be called more than once."""


@runtime_checkable
class HasWorldName(Protocol):
    """A storage whose world has its own name, independent of server and URL."""

    @property
    def world_name(self) -> str:
        """The name by which other servers know the world."""


class StoragePlace(Struct, frozen=True):
    """The place of a world's storage, existing or to be created.

    ``folder`` is the project's own on this machine, ``url`` the setting ``storage``. With
    ``read_only`` nothing is created or changed, and writes raise OperatorError; ``indexing`` still
    allows it to update its indexes if it can. ``clock`` is the world's clock, for the times of
    signals; None means the system's.
    """

    folder: Path
    url: str = "sqlite"
    durability: Durability = "power"
    read_only: bool = False
    indexing: bool = False
    clock: Clock | None = None


@runtime_checkable
class StorageKind(Protocol):
    """A kind of storage, offered by URL scheme in the entry-point group ``artificer.storage``."""

    async def open(self, place: StoragePlace) -> Storage | None:
        """Open a world's storage, and create it if it does not exist.

        Returns None if it does not exist and is only read.

        Raises:
            ConfigError: the URL or the folder cannot be used.
            TamperedError: it is damaged, or parts of it are missing.
        """

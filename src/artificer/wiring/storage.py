"""The storage of a world, of the kind that is configured, and its users in this process."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from artificer.config import Config
from artificer.errors import AuthorError
from artificer.ownership.calls import ProjectLocks
from artificer.ownership.local import LocalOwner
from artificer.ownership.process import ProcessOwner, owner_of
from artificer.plugins import lacking
from artificer.ports import (
    AgingBlobs,
    Arrivals,
    Assignments,
    BlobFiles,
    BlobStore,
    Budget,
    Clock,
    HasAging,
    HasArrivals,
    HasAssignments,
    HasFiles,
    HasOwnerLeases,
    HasPermits,
    HasRunIndex,
    HasWorldName,
    Indexed,
    Journal,
    Permits,
    RunIndex,
    SearchIndex,
    Snapshots,
    Storage,
    Versions,
)
from artificer.runtime.notifier import SignalNotifier
from artificer.wiring.storage_kinds import PARTS, checked, opened

if TYPE_CHECKING:
    from artificer.runtime.limits.permits import PermitKeeper


class OpenStorage:
    """An open `Storage`, with everything that this process needs to execute its runs.

    ``signals`` are those of the storage; they notify the runs of this process. ``evidence``
    is where the calls of tools that need a folder get it; None for a temporary one.
    """

    def __init__(
        self,
        storage: Storage,
        owner: LocalOwner | None = None,
        locks: ProjectLocks | None = None,
        evidence: Path | None = None,
    ) -> None:
        self.storage = storage
        self.owner = owner or LocalOwner()
        """The owner of the runs of this process."""
        self.locks = locks
        """The locks of the calls that are made here."""
        self.evidence = evidence
        self.signals = SignalNotifier(storage.signals)

    @property
    def journal(self) -> Journal:
        """The records of all runs."""
        return self.storage.journal

    @property
    def blobs(self) -> BlobStore:
        """All blobs."""
        return self.storage.blobs

    @property
    def files(self) -> BlobFiles | None:
        """The blobs that are files; None if none are."""
        storage: object = self.storage
        return storage.files if isinstance(storage, HasFiles) else None

    @property
    def aging(self) -> AgingBlobs | None:
        """The blobs that were put apart from records; None if none are collected."""
        storage: object = self.storage
        return storage.aging if isinstance(storage, HasAging) else None

    @property
    def budget(self) -> Budget:
        """The accounts of days and builds."""
        return self.storage.budget

    @property
    def versions(self) -> Versions:
        """The versions of workspaces."""
        return self.storage.versions

    @property
    def snapshots(self) -> Snapshots:
        """Kept states of runs."""
        return self.storage.snapshots

    @property
    def search_index(self) -> SearchIndex | None:
        """The index of the words in records; None if the storage has none."""
        storage: object = self.storage
        return storage.search_index if isinstance(storage, Indexed) else None

    @property
    def run_index(self) -> RunIndex | None:
        """The index of how each run stands; None if the storage has none."""
        storage: object = self.storage
        return storage.run_index if isinstance(storage, HasRunIndex) else None

    @property
    def assignments(self) -> Assignments | None:
        """The assignments of runs to workers; None if one machine has all workers."""
        storage: object = self.storage
        return storage.assignments if isinstance(storage, HasAssignments) else None

    @property
    def arrivals(self) -> Arrivals | None:
        """The new runs and signals; None if nothing announces them."""
        storage: object = self.storage
        return storage.arrivals if isinstance(storage, HasArrivals) else None

    @property
    def world_name(self) -> str:
        """The name by which other servers know the world; empty if it has none of its own."""
        storage: object = self.storage
        return storage.world_name if isinstance(storage, HasWorldName) else ""

    @cached_property
    def shared_permits(self) -> Permits:
        """The permits of the world, where its storage shares limits; else of this process alone."""
        from artificer.storage.memory.permits import MemoryPermits

        storage: object = self.storage
        return storage.permits if isinstance(storage, HasPermits) else MemoryPermits()

    @cached_property
    def permits(self) -> PermitKeeper:
        """The permits that this process holds."""
        from artificer.runtime.limits.permits import PermitKeeper

        return PermitKeeper(self.shared_permits)

    @cached_property
    def own_permits(self) -> PermitKeeper:
        """The permits of limits that count for this process alone."""
        from artificer.runtime.limits.permits import PermitKeeper
        from artificer.storage.memory.permits import MemoryPermits

        return PermitKeeper(MemoryPermits())

    async def aclose(self) -> None:
        """Close the storage, and give up the runs and permits that this process has."""
        async with AsyncExitStack() as closing:  # the last one first, even if one fails
            closing.push_async_callback(asyncio.to_thread, self.owner.close)
            closing.push_async_callback(self.storage.aclose)
            for name in ("own_permits", "permits"):
                if name in self.__dict__:
                    closing.push_async_callback(self.__dict__[name].aclose)


async def open_storage(
    config: Config, storage: Storage | None = None, clock: Clock | None = None
) -> OpenStorage:
    """Open the project's storage, and make it when it is not there; or use ``storage`` for it.

    Raises:
        AuthorError: ``storage`` is not one.
        ConfigError: the kind of storage is not known, or its place cannot be used.
        TamperedError: the journal is gone, and other things of a world are there.
    """
    folder = config.project_folder
    if storage is None:
        storage = await opened(config, read_only=False, clock=clock)
    elif missing := lacking(storage, PARTS):
        raise AuthorError(
            # A text may be a URL with a password, which errors do not show.
            f"An object of the type {type(storage).__name__} is not a storage. It has no "
            f"{', '.join(missing)}.",
            hint="Pass an object with the members of artificer.types.Storage. A name or a URL is "
            "a setting: storage = in artificer.toml, or load_config().replace(storage=…).",
        )
    elif not type(storage).__module__.startswith("artificer."):
        storage = checked(storage, partial(_fault_of, type(storage).__name__))
    try:
        owner = _owner_in(folder, storage, config.lease_seconds)
    except BaseException:  # an interrupt too: nobody else could close it
        await storage.aclose()
        raise
    return OpenStorage(storage, owner, ProjectLocks(owner), folder / "evidence")


def _owner_in(folder: Path, storage: Storage, lease_seconds: float) -> ProcessOwner:
    """Return this process as an owner of the storage's runs. Raises OperatorError."""
    if not isinstance(storage, HasOwnerLeases):
        return owner_of(folder)
    from artificer.ownership.leased import leased_owner

    return leased_owner(folder, storage.owner_leases, lease_seconds)


def _fault_of(name: str, what: str) -> AuthorError:
    return AuthorError(
        f"The storage of type {name} {what}",
        hint="Correct it. `StorageSuite` of artificer.testing.storage_suite tests a storage.",
    )


async def open_to_read(config: Config) -> OpenStorage:
    """Open the project's storage to be read only. Nothing is made or changed.

    Where there is no world yet, it is an empty one.

    Raises:
        TamperedError: the journal is gone, and other things of a world are there.
    """
    return OpenStorage(await opened(config, read_only=True))


def memory_storage(clock: Clock | None = None) -> OpenStorage:
    """Return the storage of a world that lives as long as the process."""
    from artificer.storage.memory.storage import MemoryStorage

    return OpenStorage(MemoryStorage(clock))

"""A world's storage in memory, as one object."""

from __future__ import annotations

from artificer.ports import Clock, Storage, StoragePlace
from artificer.ports.clock import wall_time
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory.budget import MemoryBudget
from artificer.storage.memory.journal import MemoryJournal
from artificer.storage.memory.run_index import MemoryRunIndex
from artificer.storage.memory.search_index import MemorySearchIndex
from artificer.storage.memory.signals import MemorySignals
from artificer.storage.memory.snapshots import MemorySnapshots
from artificer.storage.memory.versions import MemoryVersions


class MemoryStorage:
    """A `Storage` that lives as long as its process. ``clock`` is for the times of signals."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.journal = MemoryJournal(clock.now if clock else wall_time)
        """The records of all runs."""
        self.blobs = JoinedStore(self.journal.small, MemoryStore())
        """All blobs."""
        self.snapshots = MemorySnapshots()
        """Kept states of runs."""
        self.search_index = MemorySearchIndex()
        """Which records hold which words."""
        self.run_index = MemoryRunIndex()
        """How each run stands."""

    @property
    def signals(self) -> MemorySignals:
        """The signals to runs."""
        return self.journal.signals

    @property
    def budget(self) -> MemoryBudget:
        """The accounts of days and builds."""
        return self.journal.budget

    @property
    def versions(self) -> MemoryVersions:
        """The versions of workspaces."""
        return self.journal.versions

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


class MemoryKind:
    """The kind of storage of worlds that nobody keeps."""

    async def open(self, place: StoragePlace) -> Storage:
        """Return an empty storage."""
        return MemoryStorage(place.clock)


MEMORY = MemoryKind()

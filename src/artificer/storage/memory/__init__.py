"""A world's storage in memory: it lives as long as its process."""

from artificer.storage.memory.budget import MemoryBudget
from artificer.storage.memory.journal import MemoryJournal
from artificer.storage.memory.signals import MemorySignals
from artificer.storage.memory.snapshots import MemorySnapshots
from artificer.storage.memory.versions import MemoryVersions

__all__ = [
    "MemoryBudget",
    "MemoryJournal",
    "MemorySignals",
    "MemorySnapshots",
    "MemoryVersions",
]

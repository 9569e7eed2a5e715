"""The content-addressed store of blobs, in memory and on disk."""

from artificer.store.disk import DiskStore
from artificer.store.memory import MemoryStore

__all__ = ["DiskStore", "MemoryStore"]

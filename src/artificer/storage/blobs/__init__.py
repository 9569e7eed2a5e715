"""The content-addressed store of blobs, in memory and on disk."""

from artificer.storage.blobs.disk import DiskStore
from artificer.storage.blobs.memory import MemoryStore

__all__ = ["DiskStore", "MemoryStore"]

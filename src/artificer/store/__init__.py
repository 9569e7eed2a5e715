"""The content-addressed store of blobs, and the versions of workspaces, in memory and on disk."""

from artificer.store.disk import DiskStore
from artificer.store.memory import MemoryStore
from artificer.store.versions import MemoryVersions, SqliteVersions

__all__ = ["DiskStore", "MemoryStore", "MemoryVersions", "SqliteVersions"]

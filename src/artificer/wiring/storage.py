"""The stores of a world, on disk or in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from artificer.config import Config
from artificer.journal.memory import MemoryJournal
from artificer.journal.purse import MemoryPurse
from artificer.journal.sqlite import SqliteJournal
from artificer.journal.versions import MemoryVersions
from artificer.ownership.local import LocalOwner
from artificer.ownership.process import owner_of
from artificer.ports import (
    BlobStore,
    Journal,
    Purse,
    Snapshots,
    Versions,
)
from artificer.runtime.post import Post
from artificer.store.disk import DiskStore
from artificer.store.joined import JoinedStore
from artificer.store.memory import MemoryStore
from artificer.store.snapshots import MemorySnapshots, SqliteSnapshots


@dataclass
class Storage:
    """The stores of a world, and the post to its runs."""

    journal: Journal
    blobs: BlobStore
    post: Post
    close: Callable[[], Any] | None = None
    evidence: Path | None = None
    """Where the calls of tools that need a folder get it; None for a temporary one."""
    versions: Versions = field(default_factory=MemoryVersions)
    files: DiskStore | None = None
    """The store of blobs that are files."""
    snapshots: Snapshots = field(default_factory=MemorySnapshots)
    purse: Purse = field(default_factory=MemoryPurse)
    owner: LocalOwner = field(default_factory=LocalOwner)
    """Who owns the runs that are driven here."""


async def open_storage(config: Config) -> Storage:
    """Open the project's journal and blobs on disk, making them when they are not there."""
    folder = config.project_folder
    journal = SqliteJournal(folder / "journal.db", config.durability)
    await journal.open()
    files = DiskStore(folder / "blobs", config.durability)
    blobs = JoinedStore(journal.small, files)
    snapshots = SqliteSnapshots(folder / "snapshots.db")
    owner = owner_of(folder)

    async def close() -> None:
        snapshots.close()
        await journal.aclose()
        owner.close()

    return Storage(
        journal,
        blobs,
        Post(journal.mailbox),
        close,
        folder / "evidence",
        journal.versions,
        files,
        snapshots,
        journal.purse,
        owner,
    )


def memory_storage() -> Storage:
    """A world that lives as long as the process."""
    journal = MemoryJournal()
    blobs = JoinedStore(journal.small, MemoryStore())
    versions, purse = journal.versions, journal.purse
    return Storage(journal, blobs, Post(journal.mailbox), versions=versions, purse=purse)

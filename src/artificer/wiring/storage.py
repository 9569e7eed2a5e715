"""The stores of a world, on disk or in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from artificer.config import Config
from artificer.errors import TamperedError
from artificer.files import make_private
from artificer.ownership.calls import ProjectLocks
from artificer.ownership.local import LocalOwner
from artificer.ownership.process import owner_of
from artificer.ports import (
    BlobStore,
    Budget,
    Journal,
    Snapshots,
    Versions,
)
from artificer.readonly import not_readable
from artificer.runtime.post import Post
from artificer.storage.anchor import anchor_path
from artificer.storage.blobs.disk import DiskStore
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.budget import MemoryBudget
from artificer.storage.damage import require_database
from artificer.storage.memory import MemoryJournal
from artificer.storage.snapshots import MemorySnapshots, SqliteSnapshots
from artificer.storage.sqlite import SqliteJournal
from artificer.storage.upgrade import OLDER_VERSIONS
from artificer.storage.versions import MemoryVersions

JOURNAL = "journal.db"


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
    budget: Budget = field(default_factory=MemoryBudget)
    owner: LocalOwner = field(default_factory=LocalOwner)
    """Who owns the runs that are driven here."""
    locks: ProjectLocks | None = None
    """The locks of the calls that are made here."""


async def open_storage(config: Config) -> Storage:
    """Open the project's journal and blobs on disk, making them when they are not there.

    Raises:
        TamperedError: the journal is gone, and other things of a world are there.
    """
    folder = config.project_folder
    await asyncio.to_thread(_before_writing, folder)
    journal = SqliteJournal(folder / JOURNAL, config.durability)
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
        journal.budget,
        owner,
        ProjectLocks(owner),
    )


async def open_to_read(config: Config) -> Storage:
    """Open the project's journal and blobs to be read only. Nothing is made or changed.

    Where there is no world yet, it is an empty one.

    Raises:
        TamperedError: the journal is gone, and other things of a world are there.
    """
    folder = config.project_folder
    if not await asyncio.to_thread(_holds_world, folder):
        return memory_storage()
    journal = SqliteJournal(folder / JOURNAL, read_only=True)
    await journal.open()
    files = DiskStore(folder / "blobs", read_only=True)
    blobs = JoinedStore(journal.small, files)
    return Storage(
        journal,
        blobs,
        Post(journal.mailbox),
        journal.aclose,
        versions=journal.versions,
        files=files,
        budget=journal.budget,
    )


def _before_writing(folder: Path) -> None:
    """Look after a folder that is about to be written.

    A world of a release that made files as the umask said is made private, once: what its owner
    opens to others afterwards stays open.
    """
    if _holds_world(folder) and not anchor_path(folder / JOURNAL).exists():
        with suppress(OSError):  # of another user; opening the journal says more
            make_private(folder, *folder.glob("*.db*"))


def _holds_world(folder: Path) -> bool:
    """Whether a folder holds a world.

    Raises:
        TamperedError: its journal is gone, and it was not an empty one.
        OperatorError: the folder cannot be read.
    """
    path = folder / JOURNAL
    try:
        require_database(path)
        if path.exists() and path.stat().st_size:
            return True
        blobs = (folder / "blobs" / "sha256").glob("??/*")
        found = [*islice(blobs, 1), *folder.glob(OLDER_VERSIONS)]
    except PermissionError as error:
        raise not_readable(Path(error.filename or path)) from error
    if found:
        raise TamperedError(
            f"The journal {path} is gone or empty, and {found[0]} is there.",
            hint=f"Nothing was changed. Restore {JOURNAL} from a backup; or move {folder} away to "
            "begin with nothing.",
        )
    return False


def memory_storage() -> Storage:
    """A world that lives as long as the process."""
    journal = MemoryJournal()
    blobs = JoinedStore(journal.small, MemoryStore())
    versions, budget = journal.versions, journal.budget
    return Storage(journal, blobs, Post(journal.mailbox), versions=versions, budget=budget)

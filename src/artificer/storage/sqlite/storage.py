"""A world's storage in a folder: SQLite files, and one file for each large blob."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import islice
from pathlib import Path

from artificer.errors import TamperedError
from artificer.ports import Snapshots, Storage, StoragePlace
from artificer.ports.clock import wall_time
from artificer.storage.blobs.disk import DiskStore
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.sqlite.anchor import anchor_path
from artificer.storage.sqlite.budget import SqliteBudget
from artificer.storage.sqlite.damage import require_database
from artificer.storage.sqlite.journal import SqliteJournal
from artificer.storage.sqlite.permits import SqlitePermits
from artificer.storage.sqlite.run_index import SqliteRunIndex
from artificer.storage.sqlite.search_index import SqliteSearchIndex
from artificer.storage.sqlite.signals import SqliteSignals
from artificer.storage.sqlite.snapshots import NoSnapshots, SqliteSnapshots
from artificer.storage.sqlite.upgrade import OLDER_VERSIONS
from artificer.storage.sqlite.versions import SqliteVersions
from artificer.system.files import make_private
from artificer.system.read_only import not_readable

JOURNAL, BLOBS, SNAPSHOTS = "journal.db", "blobs", "snapshots.db"
SEARCH, RUNS = "search.db", "runs.db"


class SqliteStorage:
    """A `Storage` in the folder of ``place``, for any number of processes on one machine.

    ``journal.db`` holds all that the chain covers, and small blobs; ``blobs/`` the large ones;
    ``snapshots.db``, ``search.db``, ``runs.db`` and ``permits.db`` what may be lost. One connection
    writes, in the event loop, and shares its commits; one reads, in its own thread; those that
    threads use have a lock each.
    """

    def __init__(self, place: StoragePlace) -> None:
        self._journal = SqliteJournal(
            place.folder / JOURNAL,
            place.durability,
            read_only=place.read_only,
            now=place.clock.now if place.clock else wall_time,
        )
        self._kept = None if place.read_only else SqliteSnapshots(place.folder / SNAPSHOTS)
        self.snapshots: Snapshots = self._kept or NoSnapshots()
        """Kept states of runs; a storage that is only read keeps none."""
        reading = place.read_only and not place.indexing
        self.search_index = SqliteSearchIndex(place.folder / SEARCH, read_only=reading)
        """Which records hold which words."""
        self.run_index = SqliteRunIndex(place.folder / RUNS, read_only=reading)
        """How each run stands."""
        self.permits = SqlitePermits(place.folder)
        """The permits of limits that all processes share."""
        self.files = DiskStore(place.folder / BLOBS, place.durability, read_only=place.read_only)
        """The blobs that are files."""

    async def open(self) -> None:
        """Open the files, and make those that are absent.

        Raises what :meth:`SqliteJournal.open` does.
        """
        await self._journal.open()
        self._blobs = JoinedStore(self._journal.small, self.files)

    @property
    def journal(self) -> SqliteJournal:
        """The records of all runs."""
        return self._journal

    @property
    def blobs(self) -> JoinedStore:
        """All blobs."""
        return self._blobs

    @property
    def aging(self) -> DiskStore:
        """The blobs that were put apart from records: those that are files."""
        return self.files

    @property
    def signals(self) -> SqliteSignals:
        """The signals to runs."""
        return self._journal.signals

    @property
    def budget(self) -> SqliteBudget:
        """The accounts of days and builds."""
        return self._journal.budget

    @property
    def versions(self) -> SqliteVersions:
        """The versions of workspaces."""
        return self._journal.versions

    async def aclose(self) -> None:
        """Finish what waits and close all files. May be called more than once."""
        if self._kept is not None:
            self._kept.close()
        self.search_index.close()
        self.run_index.close()
        self.permits.close()
        await self._journal.aclose()


class SqliteKind:
    """The kind of storage that a world has when nothing else is configured."""

    async def open(self, place: StoragePlace) -> Storage | None:
        """Open the world in a folder, and make it when it is not there, or else return None.

        Raises:
            TamperedError: the journal is gone, and other things of a world are there.
        """
        there = await asyncio.to_thread(_holds_world, place.folder)
        if place.read_only and not there:
            return None
        if there and not place.read_only:
            await asyncio.to_thread(_make_private_once, place.folder)
        storage = SqliteStorage(place)
        await storage.open()
        return storage


SQLITE = SqliteKind()


def _make_private_once(folder: Path) -> None:
    """Make a world private, once, that an older release made with the mode of the umask.

    What its owner opens to others afterwards stays open.
    """
    if not anchor_path(folder / JOURNAL).exists():
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
        blobs = (folder / BLOBS / "sha256").glob("??/*")
        found = [*islice(blobs, 1), *folder.glob(OLDER_VERSIONS)]
    except PermissionError as error:
        raise not_readable(Path(error.filename or path)) from error
    if found:
        raise TamperedError(
            f"The journal {path} is missing or empty, but {found[0]} exists.",
            hint=f"Nothing was changed. Restore {JOURNAL} from a backup; or move {folder} away to "
            "start with an empty world.",
        )
    return False

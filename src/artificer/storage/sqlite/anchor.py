"""The anchor of a journal: a small file that records the journal's length.

The journal's own chains find a record that was changed, not one that is gone from the end: SQLite
drops whatever follows a damaged frame of its log, and what is left is consistent. So after each
commit the position of the world, and its hash there, are also written into ``journal.db-anchor``,
and the file is synced before an effect starts. A journal that ends before its anchor has lost
records, and is refused: an effect that they tell of would happen again.

The file has 64 slots; position ``n`` is written into slot ``n % 64``, and the highest counts. So
any number of processes write it without a lock, an older position cannot replace a newer one, and
a slot that a crash tore, which its checksum shows, costs one position.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from pathlib import Path

import orjson
from msgspec import Struct, json

from artificer.errors import OperatorError, TamperedError
from artificer.system.files import private_file, sync_folder

SLOTS, SLOT_BYTES = 64, 512
_SIZE = SLOTS * SLOT_BYTES


class Mark(Struct, frozen=True, gc=False):
    """A record that was committed: its position in the world, the world's hash there, its name."""

    position: int
    world: str
    run: str = ""
    seq: int = 0


def anchor_path(journal: Path) -> Path:
    """Return where a journal's anchor is."""
    return Path(f"{journal}-anchor")


def newest_mark(journal: Path) -> Mark | None:
    """Return the highest position that a journal is known to have had; None if none is known.

    Raises:
        OperatorError: the file cannot be read.
    """
    data = _content(anchor_path(journal)) or b""
    slots = (data[at : at + SLOT_BYTES] for at in range(0, len(data), SLOT_BYTES))
    marks = [mark for slot in slots if (mark := _decode(slot)) is not None]
    return max(marks, key=lambda mark: mark.position, default=None)


def has_anchor(journal: Path) -> bool:
    """Whether a journal has its anchor: with a mark, or made just now, when it holds nothing.

    Raises what `newest_mark` does.
    """
    data = _content(anchor_path(journal))
    return data is not None and (not any(data) or newest_mark(journal) is not None)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()[:_SIZE]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OperatorError(
            f"The anchor {path} cannot be read: {error}.",
            hint="The anchor records the journal's length. Without it nothing is read or written.",
        ) from error


class Anchor:
    """The anchor of a journal that is open for writing. With ``synced``, it survives a loss of
    power once ``sync`` has returned."""

    def __init__(self, journal: Path, *, synced: bool) -> None:
        self._path = anchor_path(journal)
        self._synced = synced
        self._dirty = True
        self._error: OSError | None = None
        self._syncing = threading.Lock()
        self._handle = -1
        try:
            private_file(self._path)
            self._handle = os.open(self._path, os.O_RDWR)
            if _allocate(self._handle) and synced:
                os.fsync(self._handle)
                sync_folder(self._path.parent)
        except OSError as error:
            self.close()
            raise self._failed(error) from error

    def note(self, mark: Mark) -> None:
        """Write down what was just committed. An error shows at the next ``sync``."""
        try:
            os.pwrite(self._handle, _encode(mark), mark.position % SLOTS * SLOT_BYTES)
            self._error = None
        except OSError as error:
            self._error = error
        self._dirty = True

    def sync(self) -> None:
        """Make what was noted durable: before an effect that depends on it. It may block.

        Raises:
            OperatorError: the file cannot be written. The effect must not start.
        """
        if self._error is not None:
            raise self._failed(self._error)
        if not self._synced:
            return
        with self._syncing:  # who finds nothing to sync has waited for who syncs
            if not self._dirty:
                return
            self._dirty = False
            try:
                os.fsync(self._handle)
            except OSError as error:
                self._dirty = True
                raise self._failed(error) from error

    def close(self) -> None:
        """Close the file. May be called more than once."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def _failed(self, error: OSError) -> OperatorError:
        return OperatorError(
            f"The anchor {self._path} cannot be written: {error}.",
            hint="Without it no effect starts. Check the disk and the permissions, then resume.",
        )


def _allocate(handle: int) -> bool:
    """Give a new file its size, so that a full disk cannot stop a note; what it says stays."""
    if os.fstat(handle).st_size >= _SIZE:
        return False
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, _SIZE)
    else:
        os.ftruncate(handle, _SIZE)
    return True


def _encode(mark: Mark) -> bytes:
    body = json.encode(mark)
    if len(body) > SLOT_BYTES - 18:  # a long name of a run; the position is what counts
        body = json.encode(Mark(mark.position, mark.world))
    return b"%s %s" % (_checksum(body), body.ljust(SLOT_BYTES - 18)) + b"\n"


def _decode(slot: bytes) -> Mark | None:
    checksum, _, body = slot.rstrip(b" \n").partition(b" ")
    if not body or checksum != _checksum(body):
        return None
    try:
        found = orjson.loads(body)
        return Mark(
            int(found["position"]), str(found["world"]), str(found["run"]), int(found["seq"])
        )
    except (ValueError, TypeError, KeyError):  # of another release
        return None


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


def world_at(db: sqlite3.Connection, position: int) -> str | None:
    """Return the world's hash at a position, which a record has or a note."""
    known = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    for table in ("records", "notes"):
        if table in known:  # a journal of format 1 has no notes
            query = f"SELECT world FROM {table} WHERE position = ?"
            row = db.execute(query, (position,)).fetchone()
            if row is not None:
                return str(row[0])
    return None


def check_anchor(db: sqlite3.Connection, journal: Path, mark: Mark | None) -> None:
    """Check that a journal holds what its anchor, read before, says that it held.

    Raises:
        TamperedError: it ends before, or has another record there.
    """
    if mark is None:
        return
    found = world_at(db, mark.position)
    if found == mark.world:
        return
    named = f" (record {mark.seq} of run {mark.run})" if mark.run else ""
    if found is None:
        row = db.execute("SELECT position FROM tip").fetchone()
        what = (
            f"has lost records: it ends at position {row[0] if row else 0}, and its anchor says "
            f"that it had come to position {mark.position}{named}"
        )
    else:
        what = f"is not the one that its anchor knows: position {mark.position}{named} is another"
    raise TamperedError(
        f"The journal {journal} {what}.",
        hint=(
            f"Nothing was changed. Restore {journal.name} and its -wal file from a copy that has "
            f"those records. Or, to continue without them, move {anchor_path(journal).name} away: "
            "effects recorded there may then happen again."
        ),
    )

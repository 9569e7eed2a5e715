"""Damage in a journal's write-ahead log, found and copied before SQLite drops what follows it.

Recovery reads the log (https://sqlite.org/fileformat2.html#the_write_ahead_log) up to the first
frame whose salt or checksum is wrong, and overwrites the rest. After a crash the rest is a
transaction that was never committed. After a flipped bit it is every commit that followed.
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from pathlib import Path

from msgspec import Struct

from artificer.errors import TamperedError
from artificer.storage.sqlite.anchor import newest_mark
from artificer.system.files import private_file, sync_folder

log = logging.getLogger("artificer.storage")

MAX_COPIES = 8
"""How many copies of damaged logs are kept; what comes later is refused until some are removed."""

_HEADER, _FRAME = 32, 24
_MAGIC = 0x377F0682
_PAGES = [2**power for power in range(9, 17)]


class Damage(Struct, frozen=True):
    """Frames of a log that cannot be read, though they were written in its present round.

    ``commits`` of them end a transaction and are whole themselves: what they commit is lost.
    """

    first: int
    commits: int


def require_database(path: Path) -> None:
    """Check that a journal that is missing or empty has never been one.

    SQLite would make a new one, and remove the log.

    Raises:
        TamperedError: there is a log, or an anchor, of a journal that is not here.
    """
    if _size(path):
        return
    state = "empty" if path.exists() else "missing"
    wal = Path(f"{path}-wal")
    if size := _size(wal):
        raise TamperedError(
            f"The journal {path} is {state}, and its log {wal.name} holds {size:,} bytes.",
            hint=f"Nothing was changed. Restore {path.name} from a backup and leave the log there; "
            "or move the log away to start with an empty journal.",
        )
    if (mark := newest_mark(path)) is not None:
        raise TamperedError(
            f"The journal {path} is {state}, but its anchor records {mark.position:,} records.",
            hint=f"Nothing was changed. Restore {path.name} from a backup; or move the files that "
            f"start with {path.name} away to start with an empty journal.",
        )


def keep_damaged(path: Path, *, is_anchored: bool) -> None:
    """Keep a copy of a journal's log if SQLite is about to drop some of it, and say so.

    If the journal reaches its anchor, what follows has no commit that anybody knows of: a full disk
    leaves such a rest after each attempt to write. It is kept only if there are later commits.

    Raises:
        TamperedError: there are MAX_COPIES of it already.
        OSError: it cannot be copied.
    """
    wal = Path(f"{path}-wal")
    if not _size(wal) or _in_use(path):
        return
    data = _read(wal)
    damage = find_damage(data)
    if damage is None or (is_anchored and not damage.commits) or _read(wal) != data:
        return  # or it is being written
    copies = kept_copies(path)
    if any(_read(copy) == data for copy in copies):
        return
    if len(copies) >= MAX_COPIES:
        raise TamperedError(
            f"The log {wal} is damaged, and {MAX_COPIES} copies of damaged ones already exist.",
            hint=f"Nothing was changed. Move {wal.name}-kept-1 and the others away first.",
        )
    taken = {copy.name for copy in copies}
    names = (Path(f"{wal}-kept-{number}") for number in range(1, MAX_COPIES + 1))
    copy = next(name for name in names if name.name not in taken)
    unfinished = Path(f"{wal}-copying")  # a full disk or a crash leaves no copy that is cut off
    private_file(unfinished)
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(copy)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(copy.parent)
    log.warning(
        "the log %s is damaged from frame %d on; a copy is kept in %s", wal, damage.first, copy
    )


def kept_copies(path: Path) -> list[Path]:
    """Return the copies of damaged logs, oldest number first."""
    names = (Path(f"{path}-wal-kept-{number}") for number in range(1, MAX_COPIES + 1))
    return [name for name in names if name.exists()]


def damage_problems(path: Path) -> list[str]:
    """Say which logs hold commits that the journal does not: the present one, and kept ones."""
    problems = []
    for file in (Path(f"{path}-wal"), *kept_copies(path)):
        data = _read(file)
        damage = find_damage(data)
        if damage is None or not damage.commits or _read(file) != data:
            continue  # or it is being written
        problems.append(
            f"The log {file} is damaged from frame {damage.first} on: at least "
            f"{damage.commits} later commits cannot be read."
        )
    return problems


def find_damage(data: bytes) -> Damage | None:
    """Return what of a log cannot be read though its present writer wrote it; None for nothing.

    A last frame that is cut off by the end of the file was never finished, and does not count; nor
    does one whose page is still the zeros that the log was made longer with.
    """
    if len(data) < _HEADER + _FRAME:
        return None
    magic, _, page, _, *salts, check0, check1 = struct.unpack(">8I", data[:_HEADER])
    order = ">" if magic & 1 else "<"
    known = magic | 1 == _MAGIC | 1 and page in _PAGES
    if not known or _sums(data[:24], (0, 0), order) != (check0, check1):
        return Damage(1, 1) if any(data[_HEADER:]) else None
    frames = [
        struct.unpack_from(">6I", data, at)
        for at in range(_HEADER, len(data) - _FRAME - page + 1, _FRAME + page)
    ]
    mine = [list(frame[2:4]) == salts for frame in frames]
    if not any(mine):
        return None  # all of it is of the round before, and was copied back
    last = len(mine) - mine[::-1].index(True)
    seen, first, commits = (check0, check1), 0, 0
    for number, (frame, of_round) in enumerate(zip(frames[:last], mine, strict=False), 1):
        at = _HEADER + (number - 1) * (_FRAME + page)
        body = data[at : at + 8] + data[at + _FRAME : at + _FRAME + page]
        fits = of_round and _sums(body, seen, order) == frame[4:]
        if not (fits or first):
            if number == last and not any(body[8:]):
                break
            first = number
        elif fits and first and frame[1]:  # it says how large the database is: a commit
            commits += 1
        seen = frame[4:]
    return Damage(first, commits) if first else None


def _sums(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    """Return a log's checksum of some bytes, which continues from the one before.

    SQLite adds ``s0 += x0 + s1; s1 += x1 + s0`` for each two words. So each sum is that of the two
    before it and a word, and the last ones are products with Fibonacci numbers: far faster here.
    """
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    numbers = _fibonacci(len(words) + 2)
    terms = (before[0], before[1] - before[0], *words)
    last = _dot(terms, numbers)
    return _dot(terms[:-1], numbers[1:]), last


def _dot(terms: Sequence[int], numbers: Sequence[int]) -> int:
    total: int = sum(map(mul, terms, numbers))
    return total & 0xFFFFFFFF


@lru_cache(4)
def _fibonacci(count: int) -> Sequence[int]:
    """Return the weight of each term in the last sum, the first term first."""
    numbers = [1, 1]
    while len(numbers) < count:
        numbers.append((numbers[-1] + numbers[-2]) & 0xFFFFFFFF)
    return tuple(reversed(numbers))


def _in_use(path: Path) -> bool:
    """Whether some process has the database open, so that SQLite will recover nothing.

    Asking the file itself would drop the locks that this process may have on it.
    """
    try:
        shared = Path(f"{path}-shm").stat()
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return False
    device = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}"
    return f" {device}:{shared.st_ino} " in locks


def _read(path: Path) -> bytes:
    """Return what a file holds; nothing when it is not there: its last user removes a log."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _size(path: Path) -> int:
    """Return how long a file is; 0 when it is not there."""
    try:
        size: int = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0
    return size

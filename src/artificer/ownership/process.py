"""Ownership of a project's runs by a process: one lock of the operating system, never inherited.

The lock is a POSIX record lock (fcntl(2)): it belongs to the process, a fork does not inherit it,
and it ends with the process. It is lost when the process closes *any* descriptor of the file, so
only this module opens the file, and only once. If the lock was lost anyway, the process named in
the file is looked up too. ``docs/decisions/0018-who-owns-a-run.md`` explains what this proves.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from artificer.errors import OperatorError
from artificer.ownership.descendants import release_forked
from artificer.ownership.fifo import drop
from artificer.ownership.job_leases import PREFIX, find_lease
from artificer.ownership.local import GONE, UNKNOWN, FormerOwner, Hold, LocalOwner
from artificer.system.files import FILE_MODE, private_folder, sync_folder

FOLDER, CALLS = "owners", "calls"
SERVERS, FORKED = ".servers", ".forked"
_ENDING = ".owner"
_KEPT_SECONDS = 30 * 86_400
"""How long the file of a killed process is kept; without it, its owner counts as unknown."""


class ProcessOwner(LocalOwner):
    """This process as the owner of a project's runs. Get it from :func:`owner_of`.

    Nothing is written until it owns its first run.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.project = folder.parent
        self._lock: int | None = None
        self._users = 0

    @property
    def id(self) -> str:
        """The name recorded as owner. The first access takes the lock.

        Raises:
            OperatorError: the lock cannot be taken.
        """
        if self._lock is None:
            self._id = secrets.token_hex(8)
            try:
                self._lock = _take(self._folder, self._id)
                _sweep(self._folder)
            except OSError as error:
                raise OperatorError(
                    f"The ownership lock in {self._folder} cannot be taken: "
                    f"{error.strerror or error}.",
                    hint="The project's folder must be writable, on a file system with locks.",
                ) from error
        return self._id

    @property
    def name(self) -> str:
        """The name recorded as owner, if the lock is taken."""
        return "" if self._lock is None else self._id

    def look(self, former: str | None, run: str, hold: Hold) -> FormerOwner:
        """Return the state of a run's former owner, before ``hold``."""
        if former is None or former in ("", self.id):
            return super().look(former, run, hold)
        if former.startswith(PREFIX):
            return find_lease(self.project, former)
        return self.find(former)

    def find(self, owner: str | None) -> FormerOwner:
        """Return the state of an owner of this folder, by its file."""
        return _find(self._folder / f"{owner}{_ENDING}")

    def lives(self, owner: str) -> bool:
        """Return whether an owner is this process, or is not known to be dead."""
        mine = self._lock is not None and owner == self._id
        return mine or self.find(owner).liveness == "alive"

    def died(self, owner: str) -> bool:
        """Return whether an owner of this project's runs is dead, and had not released them."""
        file = self._folder / f"{owner}{_ENDING}"
        return owner.isalnum() and file.exists() and not self.lives(owner)

    @property
    def servers(self) -> Path:
        """The lock of the servers that this process starts and several calls share."""
        return self._folder / f"{self.id}{SERVERS}"

    @property
    def forked(self) -> Path:
        """The lock of the processes that are forked from this one once it has called a function."""
        return self._folder / f"{self.id}{FORKED}"

    @property
    def calls(self) -> Path:
        """The folder of the locks that the processes of this owner's calls hold."""
        return self.calls_of(self.id)

    def calls_of(self, owner: str) -> Path:
        """The folder of the locks of an owner's calls."""
        return self.project / CALLS / owner

    def open(self) -> None:
        """Start using it, until :meth:`close`."""
        self._users += 1

    def close(self) -> None:
        """Stop using it. The last user releases the lock, if no run is owned any more.

        Its file is kept if the journal may still name it.
        """
        self._users -= 1
        if self._users > 0 or self._lock is None or self.owned_runs:
            return
        self.finish(named=bool(self.unreleased))
        self.forget()

    def finish(self, *, named: bool) -> None:
        """Leave nothing when no run is owned any more, but its file if one still ``named`` it.

        The file then names no process: this one goes on, and executes none of these runs.
        """
        release_forked(self._folder / f"{self._id}{FORKED}")
        if named and self._lock is not None:
            with suppress(OSError):
                os.ftruncate(self._lock, 0)
        else:
            with suppress(OSError):
                (self._folder / f"{self._id}{_ENDING}").unlink()
            drop(self._folder / f"{self._id}{SERVERS}")
            with suppress(OSError):
                (self._folder / f"{self._id}{FORKED}").unlink()
        with suppress(OSError):
            self.calls.rmdir()

    def forget(self) -> None:
        """Release everything."""
        if self._lock is not None:
            os.close(self._lock)
        self._lock, self.unreleased = None, 0
        self.owned_runs.clear()
        self.left.clear()


Owner = TypeVar("Owner", bound=ProcessOwner)

_owners: dict[tuple[str, str], ProcessOwner] = {}


def owner_of(project: Path) -> ProcessOwner:
    """Return this process as the owner of a project's runs: one object per real folder."""
    return the_one(project, "", ProcessOwner)


def the_one(project: Path, world: str, make: Callable[[Path], Owner]) -> Owner:
    """Return this process as the owner of the runs of a world, of which a folder is a part."""
    folder = Path(os.path.realpath(project)) / FOLDER
    found = _owners.get((str(folder), world))
    if found is None:
        found = _owners[str(folder), world] = make(folder)
    found.open()
    return cast("Owner", found)


def _after_fork() -> None:
    """Own nothing in a forked process: the lock is the parent's, and closing a copy keeps it."""
    for owner in _owners.values():
        owner.forget()
    _owners.clear()


os.register_at_fork(after_in_child=_after_fork)


# --- the file ---------------------------------------------------------------------------------


def _take(folder: Path, name: str) -> int:
    """Create the file and lock it, durably. It gets its name once it is locked."""
    private_folder(folder)
    path = folder / f".{name}"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.fchmod(lock, FILE_MODE)
        os.write(lock, json.dumps(about_us()).encode())
        os.fsync(lock)
        path.rename(folder / f"{name}{_ENDING}")
        sync_folder(folder)
    except BaseException:  # an interrupt too: the lock would say that its owner lives
        os.close(lock)
        raise
    return lock


def about_us() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "boot": boot_id(),
        "started": _started(os.getpid()),
    }


def _find(path: Path) -> FormerOwner:
    """Return whether the process that made a file lives, by its lock and its process id."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return UNKNOWN
    except OSError as error:
        return FormerOwner("alive", f"a process that cannot be checked ({path.name}: {error})")
    try:
        about = _read(file)
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # the lock is held
        return FormerOwner("alive", name_of(about))
    finally:
        os.close(file)
    return FormerOwner("alive", name_of(about)) if _is_there(path.stem, about) else GONE


def _read(file: int) -> dict[str, Any]:
    try:
        about = json.loads(os.read(file, 4096))
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}


def name_of(about: dict[str, Any]) -> str:
    pid, host, since = (about.get(key, "?") for key in ("pid", "host", "since"))
    return f"process {pid} on {host} (since {since})"


def _is_there(owner: str, about: dict[str, Any]) -> bool:
    """Return whether the process of an owner exists: the same process id, start and boot.

    A program that this very process has replaced (execve(2)) is gone, and its owner with it.
    """
    pid, started = about.get("pid"), about.get("started")
    if not isinstance(pid, int) or started is None or about.get("boot") != boot_id():
        return False
    if pid == os.getpid() and owner not in {one.name for one in _owners.values()}:
        return False
    return bool(_started(pid) == started)


def boot_id() -> str | None:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None


def _started(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot, or None if it is gone or a zombie."""
    with suppress(OSError, ValueError, IndexError):
        facts = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if facts[0] in (b"Z", b"X") else int(facts[19])
    return None


def _sweep(folder: Path) -> None:
    """Remove the files of processes killed long ago."""
    before = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        with suppress(OSError):
            old = path.suffix == _ENDING and path.stat().st_mtime < before
            if old and _find(path).liveness == "gone":
                path.unlink()
                drop(path.with_suffix(SERVERS))
                drop(path.with_suffix(FORKED))
                (folder.parent / CALLS / path.stem).rmdir()

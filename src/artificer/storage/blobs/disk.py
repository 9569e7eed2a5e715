"""The blob store on disk: one file per blob, named by its digest, to be looked at with any tool.

root/sha256/ab/cdef…    the bytes; the name is the digest, two digits of it the directory
root/quarantine/…       blobs that nothing referred to, put aside
root/tmp/…              files on their way; what a crash left here is swept when it is old
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from artificer.errors import ConfigError, OperatorError, TamperedError
from artificer.ports import Durability
from artificer.storage.blobs.names import hex_of, not_found
from artificer.system.files import private_folder, sync_folder
from artificer.system.read_only import not_readable
from artificer.values.canon import digest_of

STALE_SECONDS = 3600
"""Age at which a temporary file belongs to no living writer."""

_TEMPORARY = re.compile(r"tmp[a-z0-9_]{8,16}")
"""The names of temporary files. A file of another name is not one of ours."""

MAX_KNOWN = 65536
"""The limit on remembered synced blobs, after which the store forgets them all."""


class DiskStore:
    """A `BlobStore` in the directory ``root``, for any number of processes.

    With durability ``power`` a blob is on the disk once ``put`` has returned; with ``process`` it
    may be lost, and only then, when power is. Files and directories can be read by their owner
    alone. Making the store makes its directories and removes stale temporary files; one that is
    ``read_only`` makes and changes nothing.

    Raises:
        ConfigError: the directories cannot be made.
    """

    def __init__(
        self, root: str | Path, durability: Durability = "power", *, read_only: bool = False
    ) -> None:
        self._root = Path(root).absolute()
        self._blobs = self._root / "sha256"
        self._tmp = self._root / "tmp"
        self._sync = durability == "power"
        self._read_only = read_only
        self._sure: set[str] = set()
        self._sure_directories: set[Path] = set()
        if read_only:
            return
        try:
            private_folder(self._root)
            self._blobs.mkdir(mode=0o700, exist_ok=True)
            self._tmp.mkdir(mode=0o700, exist_ok=True)
            if self._sync:
                sync_folder(self._root.parent)
                sync_folder(self._root)
            self._tidy()
        except OSError as error:
            raise ConfigError(
                f"Blobs cannot be stored in {self._root}: {error}.",
                hint="Check the folder's permissions and the space on the disk.",
            ) from error

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest. Storing twice is storing once.

        Raises:
            OperatorError: the disk is full or fails; nothing was stored.
        """
        self._require_writable()
        digest = digest_of(data)
        path = self._path(digest)
        if digest in self._sure and _touched(path):
            return digest
        with self._designed_errors():
            # A file that is there already is not a promise: it may be of a store that did not sync,
            # of a writer that died before it did, or cut short by a loss of power. So it is
            # compared and synced, once per process, and replaced when it is not the blob.
            if not (_holds(path, data) and _touched(path)):
                self._write(path, data)
            elif self._sync:
                _sync_file(path)
            if self._sync:
                sync_folder(path.parent)
                if path.parent not in self._sure_directories:
                    sync_folder(self._blobs)
                    self._sure_directories.add(path.parent)
        if len(self._sure) >= MAX_KNOWN:
            self._sure.clear()
        self._sure.add(digest)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes.

        Raises:
            NotFoundError: no such blob, or no digest at all.
            TamperedError: the stored bytes do not have this digest.
            OperatorError: the disk fails.
        """
        if hex_of(digest) is None:
            raise not_found(digest)
        with self._designed_errors():
            try:
                data = self._path(digest).read_bytes()
            except FileNotFoundError:
                raise not_found(digest) from None
        if digest_of(data) != digest:
            self._sure.discard(digest)  # so that putting it again repairs it
            raise TamperedError(
                f"The file of blob {digest} holds other bytes.",
                hint="Restore it from a backup, or repeat the command that wrote it.",
            )
        return data

    def has(self, digest: str) -> bool:
        """Whether the blob is there (its bytes are not verified)."""
        if hex_of(digest) is None:
            return False
        with self._designed_errors():
            return self._path(digest).is_file()

    def digests(self) -> Iterator[str]:
        """Every stored digest, in no particular order; other files are passed over."""
        for directory in self._names(self._blobs):
            if re.fullmatch("[0-9a-f]{2}", directory) and (self._blobs / directory).is_dir():
                for file in self._names(self._blobs / directory):
                    if re.fullmatch("[0-9a-f]{62}", file):
                        yield f"sha256:{directory}{file}"

    def put_before(self, moment: float) -> Iterator[str]:
        """The blobs that were put before a moment (seconds since 1970), and not again since."""
        for digest in self.digests():
            with suppress(FileNotFoundError):
                if self._path(digest).stat().st_mtime < moment:
                    yield digest

    def set_aside(self, digest: str, moment: float) -> Path | None:
        """Move a blob into ``quarantine``, unless it was put after a moment; return where it is.

        A writer that puts it meanwhile either finds its file gone, and writes it again, or has
        touched it, and it is moved back.
        """
        self._require_writable()
        path = self._path(digest)
        aside = self._root / "quarantine" / digest.removeprefix("sha256:")
        with self._designed_errors():
            aside.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                path.rename(aside)
            except FileNotFoundError:
                return None
            self._sure.discard(digest)
            if aside.stat().st_mtime >= moment:
                aside.rename(path)
                return None
        return aside

    def remove(self, digest: str, moment: float) -> bool:
        """Remove a blob, unless it was put after a moment; return whether that was done."""
        aside = self.set_aside(digest, moment)
        if aside is not None:
            aside.unlink(missing_ok=True)
        return aside is not None

    def touch(self, digests: Iterable[str]) -> None:
        """Treat blobs as put now: for what refers to them from elsewhere in a moment."""
        for digest in digests:
            _touched(self._path(digest))

    def leftovers(self) -> list[Path]:
        """Temporary files that no living writer can be at."""
        limit = time.time() - STALE_SECONDS
        found = []
        with suppress(FileNotFoundError):
            found = [p for p in self._temporary() if p.stat().st_mtime < limit]
        return sorted(found)

    def foreign(self) -> list[Path]:
        """Files among the blobs that this store did not make: they are someone else's."""
        names = {self._path(digest) for digest in self.digests()}
        return sorted(p for p in self._blobs.rglob("*") if p.is_file() and p not in names)

    def _temporary(self) -> Iterator[Path]:
        return (file for file in self._tmp.iterdir() if _TEMPORARY.fullmatch(file.name))

    def _names(self, folder: Path) -> list[str]:
        with self._designed_errors():
            try:
                return [path.name for path in folder.iterdir()]
            except FileNotFoundError:  # a store that is only read may not be there
                return []

    def _require_writable(self) -> None:
        if self._read_only:
            raise OperatorError(f"The blob store {self._root} is open for reading only.")

    def _path(self, digest: str) -> Path:
        name = digest.removeprefix("sha256:")
        return self._blobs / name[:2] / name[2:]

    def _write(self, path: Path, data: bytes) -> None:
        """Write a temporary file and rename it: the blob is there whole, or not at all."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        name = self._tmp / f"tmp{os.urandom(8).hex()}"
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if self._sync:
                    file.flush()
                    os.fsync(file.fileno())
            name.rename(path)
        finally:
            name.unlink(missing_ok=True)  # it is there only when it was not renamed

    def _tidy(self) -> None:
        for file in self._temporary():
            with suppress(FileNotFoundError):  # another process tidies too
                if time.time() - file.stat().st_mtime > STALE_SECONDS:
                    file.unlink()

    @contextmanager
    def _designed_errors(self) -> Iterator[None]:
        try:
            yield
        except PermissionError as error:
            raise not_readable(Path(error.filename or self._root)) from error
        except OSError as error:
            raise OperatorError(
                f"The blob store {self._root} cannot be read or written: {error}.",
                hint="Check the space on the disk and the permissions, then resume.",
            ) from error


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False


def _touched(path: Path) -> bool:
    """Say that a file is wanted now, or that it is gone."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())

"""One folder, opened by descriptors: no link in it is ever followed, so none leads out of it.

Every segment of a path is opened from the directory before it, with ``O_NOFOLLOW``. Who changes
links meanwhile makes a call fail; there is no moment in which the answer to a check could have
become another one.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from artificer.backends.answer import ToolRefusal
from artificer.errors import ConfigError

MAX_FILE_BYTES = 8 * 1024 * 1024
"""Largest file that is read whole."""

MAX_DEPTH = 64

HALF_WRITTEN = re.compile(r"\.[0-9a-f]{16}\.artificer")
"""The names of new files until they take their place. A process that is killed leaves them."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

PathParts = tuple[str, ...]


@dataclass(frozen=True)
class Content:
    """A file as it is: its bytes and its mode."""

    data: bytes
    mode: int


class Folder:
    """A folder and what is in it. Paths are tuples of names; the empty one is the folder.

    Every method raises Refusal, in words for a model, for what cannot be done.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def found(cls, path: Path) -> Folder:
        """Return the folder that a path leads to now. Raises ConfigError if there is none."""
        root = path.resolve()
        if not root.is_dir():
            raise ConfigError(
                f"The folder {str(path)!r} for the host tools does not exist.",
                hint="Create it, or name another folder.",
            )
        return cls(root)

    def parts(self, path: str) -> PathParts:
        """Read a path as a model wrote it: relative to the folder, or absolute and inside it."""
        inside = path.removeprefix(f"{self.root}/") if path.startswith("/") else path
        parts = tuple(part for part in inside.split("/") if part not in ("", "."))
        if inside.startswith("/") and path != str(self.root):
            raise ToolRefusal(f"{path!r} is not in the folder: paths are relative to it.", "denied")
        if path == str(self.root):
            return ()
        if ".." in parts:
            raise ToolRefusal(f"{path!r} must not hold '..'.", "denied")
        if "\0" in path or len(parts) > MAX_DEPTH:
            raise ToolRefusal(f"{path[:80]!r} is no usable path.", "invalid")
        return parts

    @contextmanager
    def directory(self, parts: PathParts, *, make: bool = False) -> Iterator[int]:
        """A descriptor of a directory, made if asked for."""
        try:
            handle = os.open(self.root, _DIRECTORY)
        except OSError as error:
            raise ToolRefusal(f"The folder cannot be opened: {error.strerror}.") from error
        try:
            for depth, part in enumerate(parts, 1):
                try:
                    if make:
                        with suppress(FileExistsError):
                            os.mkdir(part, 0o777, dir_fd=handle)
                    inner = os.open(part, _DIRECTORY, dir_fd=handle)
                except OSError as error:
                    raise self._why(error, handle, parts[:depth]) from error
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)

    def kind(self, parts: PathParts) -> os.stat_result | None:
        """Return the status of a path, links not followed; None if nothing is."""
        try:
            with self.directory(parts[:-1]) as handle:
                if not parts:
                    return os.fstat(handle)
                return os.stat(parts[-1], dir_fd=handle, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ToolRefusal(f"{'/'.join(parts)!r}: {error.strerror}.") from error
        except Missing:
            return None

    @contextmanager
    def opened(self, parts: PathParts) -> Iterator[int]:
        """A descriptor of a regular file, to be read."""
        if not parts:
            raise ToolRefusal("The folder itself is no file.")
        with self.directory(parts[:-1]) as handle:
            try:
                file = os.open(parts[-1], _READ, dir_fd=handle)
            except OSError as error:
                raise self._why(error, handle, parts) from error
            try:
                mode = os.fstat(file).st_mode
                if not stat.S_ISREG(mode):
                    what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
                    raise ToolRefusal(f"{'/'.join(parts)!r} is {what}.")
                yield file
            finally:
                os.close(file)

    def read(self, parts: PathParts) -> Content:
        """A whole file."""
        with self.opened(parts) as file:
            status = os.fstat(file)
            if status.st_size > MAX_FILE_BYTES:
                raise ToolRefusal(
                    f"{'/'.join(parts)!r} has {status.st_size} bytes, and at most {MAX_FILE_BYTES} "
                    "are read whole: read ranges of its bytes."
                )
            with os.fdopen(os.dup(file), "rb") as stream:
                return Content(stream.read(MAX_FILE_BYTES), status.st_mode & 0o777)

    def find(self, parts: PathParts) -> Content | None:
        """A whole file, or None if there is nothing."""
        try:
            return self.read(parts)
        except Missing:
            return None

    def replace(self, parts: PathParts, data: bytes, mode: int) -> None:
        """Replace a file atomically and durably: others see the old one or the new one."""
        with self.directory(parts[:-1], make=True) as handle:
            fresh = f".{secrets.token_hex(8)}.artificer"
            try:
                with os.fdopen(os.open(fresh, _NEW, 0o600, dir_fd=handle), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fchmod(file.fileno(), mode)
                    os.fsync(file.fileno())
                os.rename(fresh, parts[-1], src_dir_fd=handle, dst_dir_fd=handle)
            except OSError as error:
                with suppress(OSError):
                    os.unlink(fresh, dir_fd=handle)
                raise self._why(error, handle, parts) from error
            os.fsync(handle)

    def remove(self, parts: PathParts) -> None:
        """Remove a file."""
        with self.directory(parts[:-1]) as handle:
            try:
                os.unlink(parts[-1], dir_fd=handle)
            except OSError as error:
                raise self._why(error, handle, parts) from error
            os.fsync(handle)

    def names(self, parts: PathParts) -> list[tuple[str, os.stat_result]]:
        """Return a directory's entries in order, links not followed."""
        with self.directory(parts) as handle, os.scandir(handle) as entries:
            found = []
            for entry in entries:
                with suppress(OSError):  # gone in the meantime
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
            return sorted(found, key=lambda item: item[0])

    def _why(self, error: OSError, handle: int, parts: PathParts) -> ToolRefusal:
        """Why an entry of an open directory could not be used."""
        path = "/".join(parts)
        if isinstance(error, FileNotFoundError):
            return Missing(f"{path!r} is not there.")
        with suppress(OSError):
            mode = os.stat(parts[-1], dir_fd=handle, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                leads = os.readlink(parts[-1], dir_fd=handle)
                return ToolRefusal(
                    f"{path!r} is a symbolic link (to {leads!r}), and links are not followed: "
                    "name what it leads to, if that is in the folder.",
                    "denied",
                )
            if not stat.S_ISDIR(mode) and isinstance(error, NotADirectoryError):
                return ToolRefusal(f"{path!r} is no directory.")
        return ToolRefusal(f"{path!r}: {error.strerror}.")


class Missing(ToolRefusal):
    """There is nothing at a path."""


def kind_of(status: os.stat_result) -> str:
    """The kind of an entry in a word."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "link" if stat.S_ISLNK(mode) else "other"

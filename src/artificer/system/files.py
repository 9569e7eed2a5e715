"""Files and folders that only their owner can read, and names that survive a power loss."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import ModuleType

FOLDER_MODE, FILE_MODE = 0o700, 0o600

_making = threading.Lock()


def packaged(package: ModuleType, *names: str) -> str:
    """Return a text that is installed with a package, by its path within it.

    ``importlib.resources`` also reads packages in archives, and loads what opens these.
    """
    return Path(package.__path__[0]).joinpath(*names).read_text(encoding="utf-8")


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from all others, whatever its name; None if it cannot be found."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def private_folder(path: Path) -> None:
    """Create a folder and its missing parents with access for the owner only, for any umask.

    An existing folder keeps its mode.
    """
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir(FOLDER_MODE)
        except FileExistsError as error:
            if folder.is_symlink() and not folder.exists():
                raise FileNotFoundError(f"{folder} is a link that leads nowhere") from error
            if not folder.is_dir():
                raise
        else:
            folder.chmod(FOLDER_MODE)  # a umask can remove even the owner's rights
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a folder")


def private_file(path: Path) -> None:
    """Create an empty file with access for the owner only, for any umask, unless it exists.

    SQLite gives its log and its shared memory the mode of the database. The lock here is for
    SQLite too: closing a file drops all of this process's locks on it, so no thread may open
    it as a database before it is closed here.
    """
    with _making:
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
        except FileExistsError:
            return
        try:
            os.fchmod(handle, FILE_MODE)
        finally:
            os.close(handle)


def make_private(folder: Path, *files: Path) -> None:
    """Remove the rights of others on a folder and files. Raises OSError."""
    folder.chmod(FOLDER_MODE)
    for file in files:
        file.chmod(FILE_MODE)


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power loss. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

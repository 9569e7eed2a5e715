"""Files and folders that only their owner can read, and names that survive a loss of power."""

from __future__ import annotations

import os
import threading
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600

_making = threading.Lock()


def private_folder(path: Path) -> None:
    """Make a folder and its missing parents for the owner alone, whatever the umask is.

    One that is there keeps its mode.
    """
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir(FOLDER_MODE)
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            folder.chmod(FOLDER_MODE)  # a umask can take even the owner's rights
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a folder")


def private_file(path: Path) -> None:
    """Make an empty file for the owner alone, whatever the umask is; one that is there stays.

    SQLite gives its log and its shared memory the mode of the database. The lock is for SQLite
    too: closing a file drops all locks that this process has on it, so nobody here may have
    opened it as a database before this has closed it.
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
    """Take the rights of others on a folder and files away. Raises OSError."""
    folder.chmod(FOLDER_MODE)
    for file in files:
        file.chmod(FILE_MODE)


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a loss of power. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

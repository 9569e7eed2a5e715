"""Secrets in the files of a folder, as systemd, Docker and Kubernetes provide them."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from artificer.errors import ConfigError, OperatorError
from artificer.secrets.answers import MAX_VALUE, NAME
from artificer.secrets.made import looks_made

CREDENTIALS = "CREDENTIALS_DIRECTORY"
"""The variable in which systemd names the folder of a service's credentials."""

MAX_FILES = 500
"""The most files of a folder that are read ahead."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class FolderOfSecrets:
    """One file for each secret, with the secret's name, also in small letters or in capitals.

    A line end behind the value does not count. A file may be a symbolic link within the folder, as
    Kubernetes makes them; one that leads out of it is refused, and so is one that is not regular,
    or that others than its owner may write. Who may read a file is the folder's matter: Docker and
    Kubernetes make files that all may read, in a folder that others cannot reach.
    """

    local = True

    def __init__(self, folder: Path | None) -> None:
        """``folder`` is None for that of a service, where this process is none."""
        self._folder = folder or Path(f"${CREDENTIALS}")
        self._is_there = folder is not None

    def resolve(self, name: str) -> str | None:
        """Return the content of the file. Raises OperatorError if it cannot be used."""
        if not self._is_there:
            raise OperatorError(
                f"{CREDENTIALS} is not set: this process is not a service with credentials",
                hint="Start it with LoadCredential= in its unit, or write 'files:FOLDER'.",
            )
        if not NAME.fullmatch(name):
            return None
        for file in dict.fromkeys((name, name.lower(), name.upper())):
            if (value := self._read(file)) is not None:
                return value
        return None

    def place(self, name: str) -> str:
        """Return the file to make."""
        return str(self._folder / name)

    def at_hand(self) -> Mapping[str, str]:
        """Return the values of all files that hold more than a word."""
        found = {}
        with suppress(OSError), os.scandir(self._folder) as entries:
            for name in islice((e.name for e in entries if NAME.fullmatch(e.name)), MAX_FILES):
                with suppress(OperatorError):
                    if (value := self._read(name)) and looks_made(value):
                        found[name] = value
        return found

    def _read(self, name: str) -> str | None:
        path = self._folder / name
        try:
            folder = self._folder.resolve()
            file = path.resolve(strict=True)
            if not file.is_relative_to(folder):
                raise _unfit(path, "is a link that leads out of the folder")
            # A pipe would not be opened before someone writes to it.
            handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                mode = os.fstat(handle).st_mode
                if not stat.S_ISREG(mode):
                    raise _unfit(path, "is not a regular file")
                if mode & _OTHERS_WRITE:
                    raise _unfit(path, "can be written by others than its owner: chmod go-w")
                data = os.read(handle, MAX_VALUE + 1)
            finally:
                os.close(handle)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError
            why = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
            raise _unfit(path, f"cannot be read: {why}") from None
        if len(data) > MAX_VALUE:
            raise _unfit(path, f"is longer than {MAX_VALUE} bytes")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise _unfit(path, "is not text in UTF-8") from None
        if "\0" in text:
            raise _unfit(path, "holds a NUL character")
        return text.removesuffix("\n").removesuffix("\r") or None


def _unfit(path: Path, why: str) -> OperatorError:
    return OperatorError(f"{path} {why}")


class _Files:
    def open(self, setting: str) -> FolderOfSecrets:
        """Return the folder of ``files:FOLDER``; without one, that of a service of systemd."""
        folder = setting.partition(":")[2] or os.environ.get(CREDENTIALS, "")
        if not folder:  # approving a run from a terminal needs no secret
            return FolderOfSecrets(None)
        if not Path(folder).is_absolute():
            raise ConfigError(
                f"The folder of secrets {folder!r} is relative.",
                hint="Write an absolute path, because programs run in several folders.",
            )
        return FolderOfSecrets(Path(folder))


FILES = _Files()

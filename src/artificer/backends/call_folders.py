"""Folders for what tools write about their calls: one for each call, below one for each run.

Names come from ids that are ours, or from digests of those that a model wrote: never from a tool's
name or an argument. A run's folder may be removed at any time; nothing else refers to it.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from contextlib import suppress
from pathlib import Path

from artificer.system.removal import remove_folder

_SAFE = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def scan_id_of(run: str, call: str) -> str:
    """The id that a program is given of its call: the same when it is run again after a crash."""
    return hashlib.sha256(f"{run}\0{call}".encode("utf-8", "replace")).hexdigest()[:16]


def call_folder(root: Path, run: str, call: str) -> Path:
    """Make the folder of a call, for its owner alone, and return it. Raises OSError."""
    folder = path_of_call(root, run, call)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def path_of_call(root: Path, run: str, call: str) -> Path:
    """Return where the folder of a call is, whether it was made or not."""
    return folder_of_run(root, run) / scan_id_of(run, call)


def folder_of_run(root: Path, run: str) -> Path:
    """Return where the folders of a run's calls are, whether any was made or not."""
    name = run if _SAFE.fullmatch(run) else scan_id_of(run, "")
    return root.absolute() / name


def prune(root: Path, *, older_than_days: float) -> tuple[list[str], list[str]]:
    """Remove the folders of runs to which nothing was added for so long.

    Return the names of those that are gone; and what is left of others, and why.
    """
    limit = time.time() - older_than_days * 86_400
    removed: list[str] = []
    left: list[str] = []
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder.is_symlink() or not folder.is_dir() or (newest := _newest(folder)) >= limit:
            continue
        if found := remove_folder(folder):
            left += found
            _date_back(folder, newest)
        else:
            removed.append(folder.name)
    return removed, left


def _newest(folder: Path) -> float:
    """Return when something was last added to a folder, as far as it can be read."""
    found = folder.lstat().st_mtime
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with suppress(OSError):
                found = max(found, Path(place, name).lstat().st_mtime)
    return found


def _date_back(folder: Path, moment: float) -> None:
    """Undo what removing a part has done to the times of the rest: it is as old as before."""
    for place, _, _ in os.walk(folder):
        with suppress(OSError):
            os.utime(place, (moment, moment))

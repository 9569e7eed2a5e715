"""Folders for what tools write about their calls: one for each call, below one for each run.

Names come from ids that are ours, or from digests of those that a model wrote: never from a tool's
name or an argument. A run's folder may be removed at any time; nothing else refers to it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from pathlib import Path

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


def prune(root: Path, *, older_than_days: float) -> list[str]:
    """Remove the folders of runs to which nothing was added for so long; return their names."""
    if not root.is_dir():
        return []
    limit = time.time() - older_than_days * 86_400
    old = [f for f in sorted(root.iterdir()) if f.is_dir() and _newest(f) < limit]
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    return [folder.name for folder in old]


def _newest(folder: Path) -> float:
    inside = (entry.lstat().st_mtime for entry in folder.rglob("*"))
    return max(folder.lstat().st_mtime, *inside, 0.0)

"""Pruned runs of which something is left: contents of their records, or files outside of them.

Pruning records a tombstone, empties the records, and removes the files. A process may die between
two of these steps; what is left then can be seen, so that the rest can be done later.
"""

from __future__ import annotations

import asyncio
import re
from os.path import lexists
from pathlib import Path

from artificer.backends.call_folders import folder_of_run
from artificer.core.tombstone import tombstone
from artificer.errors import ArtificerError
from artificer.ports import Journal, RunHead
from artificer.system.removal import remove_folder

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


async def half_pruned(journal: Journal, project: Path, run: str | None = None) -> list[str]:
    """Return the runs, oldest first, that have a tombstone while something of them is left.

    With ``run``, only this one. A run that cannot be read is none of them: `verify` reports it.
    """
    heads = [head for head in await journal.runs() if head.head.seq and run in (None, head.run)]
    return [head.run for head in heads if await _is_half_pruned(journal, project, head)]


async def _is_half_pruned(journal: Journal, project: Path, head: RunHead) -> bool:
    try:
        (last,) = await journal.read(head.run, head.head.seq - 1, 1)
        if not tombstone(last.body):
            return False
        if await asyncio.to_thread(_has_files, project, head.run):
            return True
        return bool(await journal.read(head.run, 0, 1))
    except ArtificerError:  # its records are empty, or not as they were written
        return False


def remove_files(project: Path, run: str) -> list[str]:
    """Remove the files of a run outside its records; return what is left, and why.

    It may be repeated.
    """
    return [left for folder in _folders(project, run) for left in remove_folder(folder)]


def _has_files(project: Path, run: str) -> bool:
    return any(lexists(folder) for folder in _folders(project, run))


def _folders(project: Path, run: str) -> list[Path]:
    """The places of a run's evidence, its views, and the repository of a build."""
    folders = [folder_of_run(project / "evidence", run)]
    if _FOLDER.fullmatch(run):  # no folder has another name
        folders += [project / kind / run for kind in ("runs", "builds")]
    return folders
